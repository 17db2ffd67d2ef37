// The three classes of errors of the product, collected so that all findings are reported at once.
#pragma once
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tensorturbo {

/// User: bad model or argument. Resource: does not fit, or unsupported placement. Internal: our fault.
enum class ErrorClass { User, Resource, Internal };

enum class Severity { Error, Warning, Note };

struct Diagnostic {
  Severity severity = Severity::Error;
  ErrorClass errorClass = ErrorClass::User;
  /// What is wrong, with the rule and the actual value: "strides must be positive, got 0".
  std::string message;
  /// Name of the source model's node; empty if the finding belongs to no node.
  std::string node;
  /// What the user can do about it; may be empty.
  std::string hint;
};

/// Collects findings. Nothing here ends the process or throws. Safe to use from several threads.
class Diagnostics {
public:
  void report(Diagnostic d);
  void userError(std::string message, std::string node = {}, std::string hint = {});
  void resourceError(std::string message, std::string node = {}, std::string hint = {});
  void internalError(std::string message, std::string node = {}, std::string hint = {});
  void warning(std::string message, std::string node = {}, std::string hint = {});

  bool hasErrors() const;
  /// A copy of what has been reported so far, in order.
  std::vector<Diagnostic> all() const;
  /// The gravest class reported: internal over resource over user. Only meaningful after an error.
  ErrorClass gravest() const;
  /// Exit code of a command line program: 0 good, 1 user error, 2 resource, 3 internal.
  int exitCode() const;
  /// All findings as text, one "error: node 'n': message" line each, hints indented below. At most `limit`
  /// errors are written out; the rest is counted. Control characters are escaped and long text shortened.
  std::string render(size_t limit = 50) const;

private:
  mutable std::mutex mutex;
  std::vector<Diagnostic> diagnostics;
};

/// Quotes text from an untrusted file for a message: escapes control and non-UTF-8 bytes, text-direction
/// overrides, quotes, and cuts after `maxLength` bytes with "...".
std::string quoteForMessage(std::string_view text, size_t maxLength = 120);

/// The candidate nearest to `word` by edit distance, or "" if none is near: for "did you mean" hints.
std::string nearestName(std::string_view word, const std::vector<std::string> &candidates);

} // namespace tensorturbo
