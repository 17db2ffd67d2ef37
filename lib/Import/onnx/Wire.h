// A cursor over a protobuf message. Unlike protozero's own reader it skips groups, which old writers used
// and which unknown fields may hold. Throws only WireError and protozero's exceptions; both stay inside the
// reader.
#pragma once
#include <cstring>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo::onnx {

struct WireError {
  std::string message;
};

class Wire {
public:
  enum Type { Varint = 0, Fixed64 = 1, Bytes = 2, GroupStart = 3, GroupEnd = 4, Fixed32 = 5 };

  explicit Wire(std::string_view message) : at(message.data()), end(message.data() + message.size()) {}

  /// Steps to the next field; false at the end. The field before must have been read or skipped.
  bool next() {
    if (at == end)
      return false;
    uint64_t key = varint();
    number = key >> 3;
    wireType = static_cast<Type>(key & 7);
    if (number == 0 || number > 0x1FFFFFFF)
      throw WireError{"field number " + std::to_string(number) + " is not valid"};
    return true;
  }
  uint64_t field() const { return number; }
  Type type() const { return wireType; }

  uint64_t readVarint() {
    expect(Varint);
    return varint();
  }
  int64_t readInt() { return static_cast<int64_t>(readVarint()); }
  float readFloat() {
    expect(Fixed32);
    return fixed<float>();
  }
  std::string_view readBytes() {
    expect(Bytes);
    return bytes();
  }
  /// A repeated integer field in either of its forms.
  void readInts(std::vector<int64_t> &out) {
    if (wireType == Varint) {
      out.push_back(static_cast<int64_t>(varint()));
      return;
    }
    Wire packed(readBytes());
    while (packed.at != packed.end)
      out.push_back(static_cast<int64_t>(packed.varint()));
  }
  void readFloats(std::vector<float> &out) {
    if (wireType == Fixed32) {
      out.push_back(fixed<float>());
      return;
    }
    Wire packed(readBytes());
    while (packed.at != packed.end)
      out.push_back(packed.fixed<float>());
  }
  template <typename T> T fixed() {
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  uint64_t varint() { return protozero::decode_varint(&at, end); }
  bool atEnd() const { return at == end; }

  void skip() {
    if (wireType != GroupStart)
      return skipOne(wireType);
    // Groups nest; a stack of their numbers on the heap keeps deep nesting harmless.
    std::vector<uint64_t> open{number};
    while (!open.empty()) {
      uint64_t key = varint();
      Type type = static_cast<Type>(key & 7);
      if (type == GroupStart) {
        open.push_back(key >> 3);
      } else if (type == GroupEnd) {
        if (open.back() != key >> 3)
          throw WireError{"a group ends that was not begun"};
        open.pop_back();
      } else {
        skipOne(type);
      }
    }
  }

private:
  std::string_view bytes() {
    uint64_t length = varint();
    return {take(length), static_cast<size_t>(length)};
  }
  const char *take(uint64_t length) {
    if (length > static_cast<uint64_t>(end - at))
      throw protozero::end_of_buffer_exception{};
    const char *begin = at;
    at += length;
    return begin;
  }
  void skipOne(Type type) {
    switch (type) {
    case Varint:
      varint();
      return;
    case Fixed64:
      take(8);
      return;
    case Bytes:
      bytes();
      return;
    case Fixed32:
      take(4);
      return;
    default:
      throw WireError{"wire type " + std::to_string(static_cast<int>(type)) + " is not valid"};
    }
  }
  void expect(Type wanted) const {
    if (wireType != wanted)
      throw WireError{"field " + std::to_string(number) + " has wire type " + std::to_string(wireType) +
                      " instead of " + std::to_string(wanted)};
  }

  const char *at;
  const char *end;
  uint64_t number = 0;
  Type wireType = Varint;
};

} // namespace tensorturbo::onnx
