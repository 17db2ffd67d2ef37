#include "Support/Diagnostics.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

using namespace tensorturbo;

void Diagnostics::report(Diagnostic d) {
  std::lock_guard<std::mutex> lock(mutex);
  diagnostics.push_back(std::move(d));
}

void Diagnostics::userError(std::string message, std::string node, std::string hint) {
  report({Severity::Error, ErrorClass::User, std::move(message), std::move(node), std::move(hint)});
}

void Diagnostics::resourceError(std::string message, std::string node, std::string hint) {
  report({Severity::Error, ErrorClass::Resource, std::move(message), std::move(node), std::move(hint)});
}

void Diagnostics::internalError(std::string message, std::string node, std::string hint) {
  report({Severity::Error, ErrorClass::Internal, std::move(message), std::move(node), std::move(hint)});
}

void Diagnostics::warning(std::string message, std::string node, std::string hint) {
  report({Severity::Warning, ErrorClass::User, std::move(message), std::move(node), std::move(hint)});
}

bool Diagnostics::hasErrors() const {
  std::lock_guard<std::mutex> lock(mutex);
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic &d) { return d.severity == Severity::Error; });
}

std::vector<Diagnostic> Diagnostics::all() const {
  std::lock_guard<std::mutex> lock(mutex);
  return diagnostics;
}

ErrorClass Diagnostics::gravest() const {
  std::lock_guard<std::mutex> lock(mutex);
  ErrorClass worst = ErrorClass::User;
  for (const Diagnostic &d : diagnostics)
    if (d.severity == Severity::Error)
      worst = std::max(worst, d.errorClass);
  return worst;
}

int Diagnostics::exitCode() const {
  return hasErrors() ? 1 + static_cast<int>(gravest()) : 0;
}

static const char *severityWord(const Diagnostic &d) {
  switch (d.severity) {
  case Severity::Warning:
    return "warning: ";
  case Severity::Note:
    return "note: ";
  case Severity::Error:
    break;
  }
  switch (d.errorClass) {
  case ErrorClass::Resource:
    return "resource error: ";
  case ErrorClass::Internal:
    return "internal error: ";
  case ErrorClass::User:
    break;
  }
  return "error: ";
}

std::string Diagnostics::render(size_t limit) const {
  std::string out;
  size_t written = 0, skipped = 0;
  for (const Diagnostic &d : all()) {
    if (d.severity == Severity::Error && written >= limit) {
      ++skipped;
      continue;
    }
    written += d.severity == Severity::Error;
    out += severityWord(d);
    if (!d.node.empty())
      out += "node " + quoteForMessage(d.node) + ": ";
    out += d.message;
    out += '\n';
    if (!d.hint.empty())
      out += "  hint: " + d.hint + '\n';
  }
  if (skipped)
    out += "... and " + std::to_string(skipped) + " more errors\n";
  return out;
}

/// Length of the valid UTF-8 sequence at the front of `s`, or 0. Overlong forms and surrogates are invalid.
static size_t utf8Length(std::string_view s, uint32_t &codePoint) {
  unsigned char c = s[0];
  size_t n = c < 0x80 ? 1 : (c >> 5) == 6 ? 2 : (c >> 4) == 14 ? 3 : (c >> 3) == 30 ? 4 : 0;
  if (n == 0 || n > s.size())
    return 0;
  codePoint = n == 1 ? c : c & (0xFF >> (n + 1));
  for (size_t i = 1; i < n; ++i) {
    if ((static_cast<unsigned char>(s[i]) & 0xC0) != 0x80)
      return 0;
    codePoint = codePoint << 6 | (s[i] & 0x3F);
  }
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (codePoint < smallest[n] || codePoint > 0x10FFFF || (codePoint >= 0xD800 && codePoint < 0xE000))
    return 0;
  return n;
}

std::string tensorturbo::quoteForMessage(std::string_view text, size_t maxLength) {
  static const char hex[] = "0123456789abcdef";
  std::string out = "'";
  size_t i = 0;
  while (i < text.size()) {
    if (out.size() > maxLength) {
      out += "...";
      break;
    }
    uint32_t codePoint = 0;
    size_t n = utf8Length(text.substr(i), codePoint);
    // Control characters, and the marks that turn the direction of the text, could fake a message.
    bool unsafe = n == 0 || codePoint < 0x20 || (codePoint >= 0x7F && codePoint < 0xA0) ||
                  (codePoint >= 0x200B && codePoint <= 0x200F) ||
                  (codePoint >= 0x2028 && codePoint <= 0x202E) ||
                  (codePoint >= 0x2066 && codePoint <= 0x2069) || codePoint == 0xFEFF;
    size_t length = n ? n : 1;
    for (size_t k = 0; k < length; ++k) {
      unsigned char c = text[i + k];
      if (unsafe) {
        out += "\\x";
        out += hex[c >> 4];
        out += hex[c & 15];
      } else {
        if (c == '\'' || c == '\\')
          out += '\\';
        out += static_cast<char>(c);
      }
    }
    i += length;
  }
  return out + "'";
}

std::string tensorturbo::nearestName(std::string_view word, const std::vector<std::string> &candidates) {
  std::string best;
  unsigned bestDistance = static_cast<unsigned>(word.size() / 3 + 2);
  llvm::StringRef needle(word.data(), std::min<size_t>(word.size(), 100));
  for (const std::string &c : candidates) {
    unsigned distance = needle.edit_distance(c, true, bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = c;
    }
  }
  return best;
}
