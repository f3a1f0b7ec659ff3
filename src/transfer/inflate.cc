#include <zlib.h>
#include <zstd.h>

#include "transfer/source.h"

namespace stator::transfer {

namespace {

constexpr size_t kStep = 256 * 1024;
constexpr int kGzipWindow = 15 + 16;
// A frame may ask for more memory than its data is worth; this is what the zstd command allows too.
constexpr int kMaxWindowLog = 27;

class Plain final : public Inflater {
 public:
  void feed(std::string_view bytes, std::string& out) override { out.append(bytes); }
  void finish() override {}
};

class Gzip final : public Inflater {
 public:
  Gzip() {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }

  void feed(std::string_view bytes, std::string& out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    while (stream_.avail_in > 0) {
      if (is_member_over_) {
        inflateReset(&stream_);
        is_member_over_ = false;
      }
      has_begun_ = true;
      do {
        const size_t old = out.size();
        out.resize(old + kStep);
        stream_.next_out = reinterpret_cast<Bytef*>(out.data() + old);
        stream_.avail_out = static_cast<uInt>(kStep);
        const int result = inflate(&stream_, Z_NO_FLUSH);
        out.resize(out.size() - stream_.avail_out);
        is_member_over_ = result == Z_STREAM_END;
        if (result == Z_BUF_ERROR) break;  // wants more input
        if (result != Z_OK && result != Z_STREAM_END) {
          throw std::runtime_error(std::string("not valid gzip data: ") +
                                   (stream_.msg != nullptr ? stream_.msg : "broken stream"));
        }
      } while (stream_.avail_out == 0 && !is_member_over_);
    }
  }
  void finish() override {
    if (has_begun_ && !is_member_over_) throw std::runtime_error("gzip data is cut short");
  }

 private:
  z_stream stream_{};
  bool has_begun_ = false;
  bool is_member_over_ = false;
};

class Zstd final : public Inflater {
 public:
  Zstd() : context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  }

  void feed(std::string_view bytes, std::string& out) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool is_full = false;
    while (in.pos < in.size || is_full) {
      const size_t old = out.size();
      out.resize(old + kStep);
      ZSTD_outBuffer into{out.data() + old, kStep, 0};
      const size_t result = ZSTD_decompressStream(context_.get(), &into, &in);
      out.resize(old + into.pos);
      if (ZSTD_isError(result)) {
        throw std::runtime_error(std::string("not valid zstd data: ") + ZSTD_getErrorName(result));
      }
      is_frame_over_ = result == 0;
      is_full = into.pos == into.size && !is_frame_over_;
    }
  }
  void finish() override {
    if (!is_frame_over_) throw std::runtime_error("zstd data is cut short");
  }

 private:
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
  bool is_frame_over_ = true;
};

}  // namespace

std::unique_ptr<Inflater> make_inflater(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<Gzip>();
    case Compression::kZstd:
      return std::make_unique<Zstd>();
    case Compression::kNone:
      break;
  }
  return std::make_unique<Plain>();
}

}  // namespace stator::transfer
