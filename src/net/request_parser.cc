#include "net/request_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/hex.h"
#include "common/words.h"
#include "net/header_value.h"

namespace stator::net {

namespace {

constexpr size_t kMaxHeaders = 128;
// No method is longer: what begins otherwise is not HTTP.
constexpr size_t kMaxMethod = 32;

constexpr std::array<bool, 256> make_token_characters() {
  std::array<bool, 256> is_token{};
  for (int c = '0'; c <= '9'; ++c) is_token[static_cast<size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) is_token[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) is_token[static_cast<size_t>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) is_token[static_cast<size_t>(c)] = true;
  return is_token;
}
constexpr std::array<bool, 256> kIsToken = make_token_characters();

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return kIsToken[static_cast<unsigned char>(c)];
  });
}

bool is_method(std::string_view text) {
  return text.size() <= kMaxMethod && is_token(text);
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// True if one of eight characters is a control character.
bool any_control(uint64_t eight) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x80 * kOnes;
  const uint64_t deleted = eight ^ 0x7f * kOnes;
  return (((eight - 0x20 * kOnes) & ~eight) | ((deleted - kOnes) & ~deleted)) & kHigh;
}

// Control characters are refused wherever they are, but for tabs in values.
bool has_control(std::string_view text, bool allow_tabs) {
  const auto is_bad = [allow_tabs](char c) { return is_control(c) && !(allow_tabs && c == '\t'); };
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    if (any_control(load_8_bytes(text.data() + at)) &&
        std::any_of(text.begin() + at, text.begin() + at + 8, is_bad))
      return true;
  }
  return std::any_of(text.begin() + at, text.end(), is_bad);
}

Method to_method(std::string_view name) {
  static constexpr std::pair<std::string_view, Method> kMethods[] = {
      {"POST", Method::kPost}, {"GET", Method::kGet},       {"HEAD", Method::kHead},
      {"PUT", Method::kPut},   {"DELETE", Method::kDelete}, {"OPTIONS", Method::kOptions},
  };
  for (const auto& [known, method] : kMethods) {
    if (name == known) return method;
  }
  return Method::kOther;
}

// "http://host:8000/path" is how a client speaks to a proxy; a server must take it too.
std::string_view without_authority(std::string_view target) {
  if (target.empty() || target.front() == '/') return target;
  const size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return target;
  const size_t path = target.find_first_of("/?", scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

// A line without its carriage return, or nothing if it has none.
std::optional<std::string_view> without_return(std::string_view line) {
  if (line.empty() || line.back() != '\r') return std::nullopt;
  return line.substr(0, line.size() - 1);
}

// A line that begins with white space goes on with the one before: that is obsolete, and a server
// may refuse it.
std::optional<Header> split_field(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const Header field{line.substr(0, colon), trim(line.substr(colon + 1))};
  if (!is_token(field.name) || has_control(field.value, true)) return std::nullopt;
  return field;
}

// Each takes off what it says, if there is one.
bool take_token(std::string_view& text) {
  const auto end = std::find_if(text.begin(), text.end(),
                                [](char c) { return !kIsToken[static_cast<unsigned char>(c)]; });
  const auto size = static_cast<size_t>(end - text.begin());
  text.remove_prefix(size);
  return size > 0;
}

bool take_quoted(std::string_view& text) {
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      text.remove_prefix(at + 1);
      return true;
    }
  }
  return false;
}

// ";name", ";name=value", ";name=\"value\"", any number of them. They mean nothing here; but a
// quote that does not end in its line may do so elsewhere for others, who then see another request.
bool are_chunk_extensions(std::string_view text) {
  if (text.empty()) return true;
  if (has_control(text, true) || trim(text).empty()) return false;
  for (text = trim(text); !text.empty(); text = trim(text)) {
    if (text.front() != ';') return false;
    text = trim(text.substr(1));
    if (!take_token(text)) return false;
    text = trim(text);
    if (!text.starts_with('=')) continue;
    text = trim(text.substr(1));
    if (!(text.starts_with('"') ? take_quoted(text) : take_token(text))) return false;
  }
  return true;
}

// Takes the digits off.
std::optional<uint64_t> take_chunk_size(std::string_view& line) {
  constexpr size_t kMaxDigits = 15;
  uint64_t size = 0;
  size_t digits = 0;
  for (; digits < line.size() && hex_digit(line[digits]) >= 0; ++digits) {
    if (digits == kMaxDigits) return std::nullopt;
    size = size * 16 + static_cast<uint64_t>(hex_digit(line[digits]));
  }
  line.remove_prefix(digits);
  if (digits == 0) return std::nullopt;
  return size;
}

}  // namespace

RequestParser::State RequestParser::fail(int status) {
  failed_status_ = status;
  return State::kFailed;
}

RequestParser::State RequestParser::feed(std::string_view bytes, size_t& used) {
  std::string_view rest = bytes;
  Step step;
  while (!step) step = read_part(rest);
  used = bytes.size() - rest.size();
  return *step;
}

RequestParser::Step RequestParser::read_part(std::string_view& rest) {
  switch (part_) {
    case Part::kRequestLine:
      return read_request_line(rest);
    case Part::kFields:
      return read_field(rest);
    case Part::kBody:
      return read_body(rest);
    case Part::kChunkHead:
      return read_chunk_head(rest);
    case Part::kChunk:
      return read_chunk(rest);
    case Part::kChunkEnd:
      return read_chunk_end(rest);
    case Part::kTrailer:
      return read_trailer(rest);
  }
  return fail(500);
}

std::optional<std::string_view> RequestParser::take_line(std::string_view& rest) {
  const size_t end = rest.find('\n', searched_);
  if (end == std::string_view::npos) {
    searched_ = rest.size();
    return std::nullopt;
  }
  searched_ = 0;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return line;
}

// At least one byte of it is to come.
RequestParser::Step RequestParser::wait_for_header(std::string_view rest) {
  if (header_bytes_ + rest.size() >= header_limit_) return fail(431);
  return State::kNeedMore;
}

RequestParser::Step RequestParser::read_request_line(std::string_view& rest) {
  const std::optional<std::string_view> line = take_line(rest);
  if (!line) {
    // Whoever speaks something else is told so at once: it may not have lines at all.
    if (!rest.empty() && !is_method(rest.substr(0, rest.find(' ')))) return fail(400);
    return wait_for_header(rest);
  }
  header_bytes_ = line->size() + 1;
  if (header_bytes_ > header_limit_) return fail(431);
  const size_t after_method = line->find(' ');
  if (after_method == std::string_view::npos) return fail(400);
  const std::string_view method = line->substr(0, after_method);
  const size_t after_target = line->find(' ', after_method + 1);
  const std::string_view target =
      line->substr(after_method + 1, after_target - std::min(after_target, after_method + 1));
  if (!is_method(method) || !set_target(target)) return fail(400);
  if (after_target == std::string_view::npos) return fail(400);
  request_.method = to_method(method);
  const std::string_view version = line->substr(after_target + 1);
  is_http_11_ = version == "HTTP/1.1\r";
  if (!is_http_11_ && version != "HTTP/1.0\r") return fail(505);
  part_ = Part::kFields;
  return std::nullopt;
}

bool RequestParser::set_target(std::string_view target) {
  if (target.empty() || has_control(target, false)) return false;
  const std::string_view local = without_authority(target);
  const size_t question = local.find('?');
  request_.path = local.substr(0, question);
  request_.query =
      question == std::string_view::npos ? std::string_view() : local.substr(question + 1);
  if (request_.path.empty()) request_.path = "/";
  return true;
}

RequestParser::Step RequestParser::read_field(std::string_view& rest) {
  const std::optional<std::string_view> line = take_line(rest);
  if (!line) return wait_for_header(rest);
  header_bytes_ += line->size() + 1;
  if (header_bytes_ > header_limit_) return fail(431);
  const std::optional<std::string_view> text = without_return(*line);
  if (!text) return fail(400);
  if (text->empty()) return end_header();
  const std::optional<Header> field = split_field(*text);
  if (!field) return fail(400);
  const int refused = take_field(field->name, field->value);
  if (refused != 0) return fail(refused);
  return std::nullopt;
}

int RequestParser::take_field(std::string_view name, std::string_view value) {
  if (request_.headers.size() >= kMaxHeaders) return 431;
  request_.headers.push_back({name, value});
  // By their lengths, since nearly none is any of them.
  switch (name.size()) {
    case std::string_view("Host").size():
      if (!equals_ignoring_case(name, "Host")) return 0;
      return std::exchange(has_host_, true) ? 400 : 0;
    case std::string_view("Expect").size():
      if (equals_ignoring_case(name, "Expect") && equals_ignoring_case(value, "100-continue"))
        expects_continue_ = is_http_11_;
      return 0;
    case std::string_view("Connection").size():
      if (equals_ignoring_case(name, "Connection")) take_connection(value);
      return 0;
    case std::string_view("Proxy-Connection").size():
      if (equals_ignoring_case(name, "Proxy-Connection")) take_connection(value);
      return 0;
    case std::string_view("Content-Length").size():
      return equals_ignoring_case(name, "Content-Length") ? take_content_length(value) : 0;
    case std::string_view("Transfer-Encoding").size():
      if (!equals_ignoring_case(name, "Transfer-Encoding")) return 0;
      if (has_transfer_encoding_ || content_length_) return 400;
      has_transfer_encoding_ = true;
      is_chunked_ = equals_ignoring_case(value, "chunked");
      return 0;
    default:
      return 0;
  }
}

// The same length twice is as good as once.
int RequestParser::take_content_length(std::string_view value) {
  constexpr size_t kMaxDigits = 18;
  if (has_transfer_encoding_ || value.empty() || value.size() > kMaxDigits) return 400;
  uint64_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') return 400;
    length = length * 10 + static_cast<uint64_t>(c - '0');
  }
  if (content_length_.value_or(length) != length) return 400;
  content_length_ = length;
  return 0;
}

void RequestParser::take_connection(std::string_view value) {
  split(value, ',', [this](std::string_view option) {
    if (equals_ignoring_case(option, "close")) closes_ = true;
    if (equals_ignoring_case(option, "keep-alive")) keeps_ = true;
  });
}

RequestParser::State RequestParser::end_header() {
  // An encoding that is not understood hides where the body ends; so does any encoding in HTTP/1.0.
  if (has_transfer_encoding_ && !is_http_11_) return fail(400);
  if (has_transfer_encoding_ && !is_chunked_) return fail(501);
  if (is_chunked_) {
    part_ = Part::kChunkHead;
    return State::kHeader;
  }
  left_ = body_size();
  if (left_ > body_limit_) return fail(413);
  part_ = Part::kBody;
  return left_ == 0 ? State::kDone : State::kHeader;
}

RequestParser::Step RequestParser::read_body(std::string_view& rest) {
  const size_t now = static_cast<size_t>(std::min<uint64_t>(left_, rest.size()));
  request_.body.append(rest.substr(0, now));
  rest.remove_prefix(now);
  left_ -= now;
  return left_ == 0 ? State::kDone : State::kNeedMore;
}

RequestParser::Step RequestParser::read_chunk_head(std::string_view& rest) {
  const std::optional<std::string_view> line = take_line(rest);
  if (!line) return State::kNeedMore;
  std::optional<std::string_view> text = without_return(*line);
  if (!text) return fail(400);
  const std::optional<uint64_t> size = take_chunk_size(*text);
  if (!size || !are_chunk_extensions(*text)) return fail(400);
  extension_bytes_ += text->size();
  if (extension_bytes_ > header_limit_) return fail(400);
  if (*size > body_limit_ || request_.body.size() > body_limit_ - *size) return fail(413);
  left_ = *size;
  part_ = left_ == 0 ? Part::kTrailer : Part::kChunk;
  return std::nullopt;
}

RequestParser::Step RequestParser::read_chunk(std::string_view& rest) {
  if (read_body(rest) == State::kNeedMore) return State::kNeedMore;
  part_ = Part::kChunkEnd;
  return std::nullopt;
}

RequestParser::Step RequestParser::read_chunk_end(std::string_view& rest) {
  static constexpr std::string_view kEnd = "\r\n";
  if (rest.substr(0, kEnd.size()) != kEnd.substr(0, rest.size())) return fail(400);
  if (rest.size() < kEnd.size()) return State::kNeedMore;
  rest.remove_prefix(kEnd.size());
  part_ = Part::kChunkHead;
  return std::nullopt;
}

// Nothing here needs one.
RequestParser::Step RequestParser::read_trailer(std::string_view& rest) {
  const std::optional<std::string_view> line = take_line(rest);
  if (!line) return State::kNeedMore;
  trailer_bytes_ += line->size() + 1;
  if (trailer_bytes_ > header_limit_) return fail(431);
  const std::optional<std::string_view> text = without_return(*line);
  if (!text) return fail(400);
  if (text->empty()) return State::kDone;
  if (!split_field(*text)) return fail(400);
  return std::nullopt;
}

}  // namespace stator::net
