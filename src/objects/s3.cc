#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <random>

#include "common/system_random.h"
#include "net/http_client.h"
#include "net/signer.h"
#include "objects/object_store.h"
#include "objects/xml.h"

namespace stator::objects {

namespace {

using Kind = ObjectError::Kind;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{5'000};
constexpr size_t kListPage = 1000;  // S3 gives no more at once
constexpr size_t kMaxParts = 10'000;

bool is_success(int status) {
  return status >= 200 && status < 300;
}

// Worth another try: the server's trouble, or too many requests.
bool is_passing(int status, std::string_view code) {
  return status >= 500 || status == 429 || status == 408 || code == "RequestTimeout" ||
         code == "SlowDown" || code == "InternalError";
}

std::string without_quotes(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

// Waits that a stop ends.
class StoppablePause {
 public:
  bool wait(milliseconds time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, time, [this] { return stopped_; });
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
};

class S3 final : public ObjectStore {
 public:
  S3(S3Options options, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        signer_({options_.access_key, options_.secret_key, options_.session_token}, options_.region,
                "s3"),
        client_({.ca_file = options_.ca_file}) {
    const auto endpoint = net::parse_url(options_.endpoint);
    if (!endpoint || !endpoint->query.empty()) {
      throw std::runtime_error("the endpoint of S3 is no URL: " + options_.endpoint);
    }
    endpoint_ = *endpoint;
    while (endpoint_.path.ends_with('/')) endpoint_.path.pop_back();
  }

  std::unique_ptr<Upload> upload(const std::string& bucket, const std::string& key,
                                 const Terms& terms) override;

  std::string read(const std::string& bucket, const std::string& key, uint64_t offset, size_t size,
                   const std::string& etag) override {
    if (size == 0) return {};
    net::ClientRequest request = request_of("GET", bucket, key);
    request.headers = {
        {"Range", "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + size - 1)}};
    if (!etag.empty()) request.headers.emplace_back("If-Match", "\"" + etag + "\"");
    net::ClientResponse response = send(std::move(request), bucket, key, {412, 416});
    if (response.status == 416) return {};  // behind the end
    if (response.status == 412) {
      throw ObjectError(Kind::kRefused, bucket + "/" + key + " was changed while it was read");
    }
    if (response.status == 200) {  // a server without ranges sent it all
      response.body.erase(0, std::min<uint64_t>(offset, response.body.size()));
      if (response.body.size() > size) response.body.resize(size);
    }
    return std::move(response.body);
  }

  std::vector<ObjectInfo> list(const std::string& bucket, const std::string& prefix,
                               const std::string& after, size_t limit) override {
    std::vector<ObjectInfo> found;
    std::string token;
    while (found.size() < limit) {
      net::ClientRequest request = request_of("GET", bucket, {});
      request.url.query =
          "list-type=2&max-keys=" + std::to_string(std::min(limit - found.size(), kListPage)) +
          "&prefix=" + net::percent_encode(prefix, false);
      if (!after.empty()) {
        request.url.query += "&start-after=" + net::percent_encode(after, false);
      }
      if (!token.empty()) {
        request.url.query += "&continuation-token=" + net::percent_encode(token, false);
      }
      const net::ClientResponse response = send(std::move(request), bucket, {});
      std::string_view rest = response.body;
      while (const auto object = next_element(rest, "Contents")) {
        ObjectInfo info;
        info.key = element_text(*object, "Key");
        info.etag = without_quotes(element_text(*object, "ETag"));
        const std::string size = element_text(*object, "Size");
        std::from_chars(size.data(), size.data() + size.size(), info.size_bytes);
        found.push_back(std::move(info));
      }
      const bool more = element_text(response.body, "IsTruncated") == "true";
      token = element_text(response.body, "NextContinuationToken");
      if (!more || token.empty()) break;
    }
    if (found.size() > limit) found.resize(limit);
    return found;
  }

  void stop() override {
    pause_.stop();
    client_.stop();
  }

 private:
  friend class S3Upload;

  net::ClientRequest request_of(std::string method, const std::string& bucket,
                                const std::string& key) const {
    net::ClientRequest request;
    request.method = std::move(method);
    request.url = endpoint_;
    if (options_.path_style) {
      request.url.path += "/" + net::percent_encode(bucket, false);
    } else {
      request.url.host = bucket + "." + request.url.host;
    }
    request.url.path += "/" + net::percent_encode(key, true);
    return request;
  }

  // Sends it, again where that may help. Throws for every status but success and `accepted`.
  net::ClientResponse send(net::ClientRequest request, const std::string& bucket,
                           const std::string& key, std::initializer_list<int> accepted = {}) {
    const std::string name = key.empty() ? bucket : bucket + "/" + key;
    std::string why;
    for (int attempt = 0; attempt < options_.tries; ++attempt) {
      if (attempt > 0 && !pause_before(attempt)) {
        throw ObjectError(Kind::kStopped, "stopped before " + name);
      }
      try {
        signer_.sign(request, clock_.now_s());
        net::ClientResponse response = client_.send(request);
        const bool is_accepted =
            std::find(accepted.begin(), accepted.end(), response.status) != accepted.end();
        // The end of a multipart upload is answered with 200 before it is known how it went.
        const bool has_error =
            response.body.find("<Error>") != std::string::npos && request.method == "POST";
        if (is_accepted || (is_success(response.status) && !has_error)) return response;
        const std::string code = element_text(response.body, "Code");
        if (!is_passing(response.status, code) && !(has_error && is_success(response.status))) {
          throw refusal(response, code, name);
        }
        why = "status " + std::to_string(response.status) + " " + code;
      } catch (const net::HttpError& error) {
        using Error = net::HttpError::Kind;
        if (error.kind() == Error::kStopped) {
          throw ObjectError(Kind::kStopped, "stopped before " + name);
        }
        if (error.kind() == Error::kInvalid || error.kind() == Error::kTooLarge) {
          throw ObjectError(Kind::kRefused, name + ": " + error.what());
        }
        why = error.what();
      }
    }
    throw ObjectError(Kind::kUnavailable, name + " cannot be reached: " + why);
  }

  static ObjectError refusal(const net::ClientResponse& response, const std::string& code,
                             const std::string& name) {
    std::string message = element_text(response.body, "Message");
    if (message.empty()) message = "The object store answered with an error";
    message += " (" + name + "; Status Code: " + std::to_string(response.status) +
               "; Error Code: " + code + ")";
    if (code == "NoSuchBucket") return {Kind::kNoSuchBucket, message};
    if (code == "NoSuchKey" || response.status == 404) return {Kind::kNoSuchKey, message};
    if (response.status == 403 || response.status == 401) return {Kind::kAccessDenied, message};
    return {Kind::kRefused, message};
  }

  // Twice as long each time, and up to half of it longer, so that many do not come back at once.
  bool pause_before(int attempt) {
    milliseconds time = std::min(kLongestPause, kFirstPause * (1 << std::min(attempt - 1, 10)));
    {
      const std::lock_guard lock(random_mutex_);
      time += milliseconds(std::uniform_int_distribution<int64_t>(0, time.count() / 2)(random_));
    }
    if (options_.pause) return options_.pause(time);
    return pause_.wait(time);
  }

  const S3Options options_;
  const Clock& clock_;
  const net::RequestSigner signer_;
  net::HttpClient client_;
  net::Url endpoint_;
  StoppablePause pause_;
  std::mutex random_mutex_;
  std::minstd_rand random_{static_cast<uint32_t>(system_random())};
};

// Small objects go in one request, others in parts.
class S3Upload final : public Upload {
 public:
  S3Upload(S3& s3, std::string bucket, std::string key, Terms terms)
      : s3_(s3), bucket_(std::move(bucket)), key_(std::move(key)), terms_(std::move(terms)) {}
  ~S3Upload() override {
    if (upload_id_.empty() || finished_) return;
    try {
      net::ClientRequest request = s3_.request_of("DELETE", bucket_, key_);
      request.url.query = "uploadId=" + net::percent_encode(upload_id_, false);
      s3_.send(std::move(request), bucket_, key_, {404});
    } catch (const std::exception&) {  // the bucket's own rules remove it in time
    }
  }

  void write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const size_t room = s3_.options_.part_bytes - buffer_.size();
      buffer_.append(bytes.substr(0, room));
      bytes.remove_prefix(std::min(room, bytes.size()));
      if (buffer_.size() == s3_.options_.part_bytes) send_part();
    }
  }

  std::string finish() override {
    if (upload_id_.empty()) {
      net::ClientRequest request = s3_.request_of("PUT", bucket_, key_);
      request.headers = encryption();
      request.body = std::move(buffer_);
      finished_ = true;
      return without_quotes(s3_.send(std::move(request), bucket_, key_).header("etag"));
    }
    if (!buffer_.empty()) send_part();
    net::ClientRequest request = s3_.request_of("POST", bucket_, key_);
    request.url.query = "uploadId=" + net::percent_encode(upload_id_, false);
    request.headers = {{"Content-Type", "application/xml"}};
    request.body = "<CompleteMultipartUpload>";
    for (size_t i = 0; i < parts_.size(); ++i) {
      request.body += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>";
      append_xml_text(request.body, parts_[i]);
      request.body += "</ETag></Part>";
    }
    request.body += "</CompleteMultipartUpload>";
    try {
      const net::ClientResponse response = s3_.send(std::move(request), bucket_, key_);
      finished_ = true;
      return without_quotes(element_text(response.body, "ETag"));
    } catch (const ObjectError& error) {
      // An end whose answer was lost, and that was asked for again: the object is there, the upload
      // is not.
      if (std::string_view(error.what()).find("NoSuchUpload") == std::string_view::npos) throw;
      const auto found = s3_.list(bucket_, key_, {}, 1);
      if (found.empty() || found[0].key != key_) throw;
      finished_ = true;
      return found[0].etag;
    }
  }

 private:
  net::Fields encryption() const {
    net::Fields headers;
    if (terms_.kms) headers.emplace_back("x-amz-server-side-encryption", "aws:kms");
    if (terms_.kms && !terms_.kms_key.empty()) {
      headers.emplace_back("x-amz-server-side-encryption-aws-kms-key-id", terms_.kms_key);
    }
    return headers;
  }

  void send_part() {
    if (upload_id_.empty()) begin();
    if (parts_.size() >= kMaxParts) {
      throw ObjectError(Kind::kRefused, bucket_ + "/" + key_ + " has too many parts");
    }
    net::ClientRequest request = s3_.request_of("PUT", bucket_, key_);
    request.url.query = "partNumber=" + std::to_string(parts_.size() + 1) +
                        "&uploadId=" + net::percent_encode(upload_id_, false);
    request.body = std::move(buffer_);
    buffer_.clear();
    parts_.emplace_back(s3_.send(std::move(request), bucket_, key_).header("etag"));
  }

  void begin() {
    net::ClientRequest request = s3_.request_of("POST", bucket_, key_);
    request.url.query = "uploads=";
    request.headers = encryption();
    const net::ClientResponse response = s3_.send(std::move(request), bucket_, key_);
    upload_id_ = element_text(response.body, "UploadId");
    if (upload_id_.empty()) {
      throw ObjectError(Kind::kRefused, bucket_ + "/" + key_ + ": no upload was begun");
    }
  }

  S3& s3_;
  const std::string bucket_;
  const std::string key_;
  const Terms terms_;
  std::string buffer_;  // at most one part
  std::string upload_id_;
  std::vector<std::string> parts_;  // their ETags
  bool finished_ = false;
};

std::unique_ptr<Upload> S3::upload(const std::string& bucket, const std::string& key,
                                   const Terms& terms) {
  return std::make_unique<S3Upload>(*this, bucket, key, terms);
}

}  // namespace

std::unique_ptr<ObjectStore> open_s3(S3Options options, const Clock& clock) {
  return std::make_unique<S3>(std::move(options), clock);
}

}  // namespace stator::objects
