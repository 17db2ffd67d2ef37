/* Integer, floating-point and control code whose results must be the same on the host and on the simulated core.
   Compiled for both. Results go to `out` as words; the return value is how many there are. NaNs are written in one
   form, because hosts choose their sign bit freely. */
#include <stdint.h>

static const uint32_t integers[] = {0,          1,          2,          3,          7,          31,         255,
                                    0x7FFF,     0x8000,     0xFFFF,     0x10000,    0x12345678, 0x7FFFFFFF, 0x80000000,
                                    0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0xDEADBEEF};
enum { integerCount = sizeof integers / sizeof integers[0] };

static uint32_t hash;
static void mix(uint32_t value) { hash = (hash ^ value) * 16777619u; }

static uint32_t floatBits(float value) {
  union { float f; uint32_t u; } bits = {value};
  return value != value ? 0x7FC00000u : bits.u;
}
static void mixDouble(double value) {
  union { double d; uint64_t u; } bits = {value};
  uint64_t word = value != value ? 0x7FF8000000000000ull : bits.u;
  mix((uint32_t)word);
  mix((uint32_t)(word >> 32));
}
static float floatFrom(uint32_t bits) {
  union { uint32_t u; float f; } value = {bits};
  return value.f;
}
static double doubleFrom(uint32_t high, uint32_t low) {
  union { uint64_t u; double d; } value = {(uint64_t)high << 32 | low};
  return value.d;
}

static uint32_t integerArithmetic(void) {
  hash = 2166136261u;
  for (int i = 0; i < integerCount; i++)
    for (int j = 0; j < integerCount; j++) {
      uint32_t a = integers[i], b = integers[j];
      int32_t sa = (int32_t)a, sb = (int32_t)b;
      mix(a + b), mix(a - b), mix(a * b), mix(a & b), mix(a | b), mix(a ^ b);
      mix(a << (b & 31)), mix(a >> (b & 31)), mix((uint32_t)(sa >> (b & 31)));
      mix(sa < sb), mix(a < b), mix(a == b);
      mix((uint32_t)(((uint64_t)a * b) >> 32)), mix((uint32_t)(((int64_t)sa * sb) >> 32));
      if (b) {
        mix(a / b), mix(a % b);
        if (!(a == 0x80000000u && b == 0xFFFFFFFFu))
          mix((uint32_t)(sa / sb)), mix((uint32_t)(sa % sb));
      }
    }
  return hash;
}

static uint32_t memoryAccess(void) {
  static volatile uint8_t bytes[64];
  hash = 2166136261u;
  for (int i = 0; i < 64; i++)
    bytes[i] = (uint8_t)(i * 37 + 11);
  for (int i = 0; i < 64; i += 2)
    mix((uint32_t)(int32_t)*(volatile int16_t *)&bytes[i]), mix(*(volatile uint16_t *)&bytes[i]);
  for (int i = 0; i < 64; i++)
    mix((uint32_t)(int32_t)(int8_t)bytes[i]);
  for (int i = 0; i < 64; i += 8)
    *(volatile uint64_t *)&bytes[i] = 0x0123456789ABCDEFull * (uint32_t)(i + 1);
  for (int i = 0; i < 64; i += 4)
    mix(*(volatile uint32_t *)&bytes[i]);
  return hash;
}

static uint32_t singlePrecision(void) {
  static const uint32_t values[] = {0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x807FFFFF, 0x00800000,
                                    0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3EAAAAAB, 0x42F6E979, 0xC7C35000,
                                    0x4B800001, 0x5F000000, 0x33800000};
  enum { count = sizeof values / sizeof values[0] };
  hash = 2166136261u;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) {
      volatile float a = floatFrom(values[i]), b = floatFrom(values[j]);
      mix(floatBits(a + b)), mix(floatBits(a - b)), mix(floatBits(a * b)), mix(floatBits(a / b));
      mix(a < b), mix(a <= b), mix(a == b);
      mix(floatBits(__builtin_fabsf(a))), mix(floatBits(__builtin_copysignf(a, b)));
      mixDouble((double)a * b);
    }
  for (int i = 0; i < integerCount; i++)
    mix(floatBits((float)integers[i])), mix(floatBits((float)(int32_t)integers[i]));
  for (float x = -40000.75f; x < 40000; x = x * 0.75f + 1234.5f > x ? x * 0.75f + 1234.5f : x + 5000)
    mix((uint32_t)(int32_t)x);
  return hash;
}

static uint32_t doublePrecision(void) {
  static const uint32_t values[][2] = {{0, 0},          {0x80000000, 0}, {0x3FF00000, 0},          {0x3FD55555, 0x55555555},
                                       {0, 1},          {0x00100000, 0}, {0x7FEFFFFF, 0xFFFFFFFF}, {0x7FF00000, 0},
                                       {0x7FF80000, 0}, {0xC0590000, 0}, {0x43300000, 1},          {0x36A00000, 0},
                                       {0x47EFFFFF, 0xF0000000}};
  enum { count = sizeof values / sizeof values[0] };
  hash = 2166136261u;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) {
      volatile double a = doubleFrom(values[i][0], values[i][1]), b = doubleFrom(values[j][0], values[j][1]);
      mixDouble(a + b), mixDouble(a - b), mixDouble(a * b), mixDouble(a / b);
      mix(a < b), mix(a <= b), mix(a == b), mix(floatBits((float)a));
    }
  volatile double x = 1;
  for (int i = 0; i < 2000; i++)
    x = x * 1.0001 + 1.0 / (i + 1);
  mixDouble(x);
  return hash;
}

static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static uint32_t control(void) {
  static const char text[] = "an interpreter of instructions";
  hash = 2166136261u;
  for (const char *c = text; *c; c++)
    switch (*c) {
    case 'i': mix(1); break;
    case 'n': mix(2); break;
    case 't': mix(3); break;
    case 'r': mix(4); break;
    case ' ': mix(5); break;
    default: mix((uint32_t)*c); break;
    }
  mix((uint32_t)fibonacci(15));
  return hash;
}

uint32_t scalarResults(uint32_t *out) {
  out[0] = integerArithmetic();
  out[1] = memoryAccess();
  out[2] = singlePrecision();
  out[3] = doublePrecision();
  out[4] = control();
  return 5;
}
