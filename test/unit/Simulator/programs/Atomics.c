/* All cores add to shared counters with every kind of atomic; a barrier closes each round. */
#include <stdint.h>
enum { rounds = 1000 };
volatile uint32_t counter, exclusive, flags, smallest, largest;
static void barrier(void) { __asm__ volatile(".word 0x3800007b" ::: "memory"); }

static void addExclusive(volatile uint32_t *address, uint32_t value) {
  uint32_t old, failed;
  do
    __asm__ volatile("lr.w %0, (%2)\n add %0, %0, %3\n sc.w %1, %0, (%2)"
                     : "=&r"(old), "=&r"(failed)
                     : "r"(address), "r"(value)
                     : "memory");
  while (failed);
}

uint32_t test_main(uint32_t core) {
  if (core == 0) {
    counter = exclusive = flags = 0;
    smallest = 1000;
    largest = 0;
  }
  barrier();
  for (int i = 0; i < rounds; i++) {
    __atomic_fetch_add(&counter, core + 1, __ATOMIC_SEQ_CST);
    addExclusive(&exclusive, 1);
  }
  __atomic_fetch_or(&flags, 1u << core, __ATOMIC_SEQ_CST);
  __asm__ volatile("amomin.w zero, %1, (%0)" ::"r"(&smallest), "r"(core + 5) : "memory");
  __asm__ volatile("amomaxu.w zero, %1, (%0)" ::"r"(&largest), "r"(core + 5) : "memory");
  barrier();
  return 1;
}
