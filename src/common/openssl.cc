// OpenSSL, loaded when the first of its functions is called: https to others, signatures of such
// requests and checksums of exports need it, and its relocations would take a millisecond of every
// start. The functions that this program uses are defined here and pass their arguments on; one
// that is missing is an error of the linker.
#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <stdexcept>
#include <string>

static_assert(OPENSSL_VERSION_MAJOR == 3, "the names below are those of OpenSSL 3");

namespace {

void* loaded(const char* name) {
  void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(std::string("OpenSSL is not installed: ") + ::dlerror());
  return library;
}

void* crypto() {
  static void* const library = loaded("libcrypto.so.3");
  return library;
}

void* tls() {
  static void* const library = loaded("libssl.so.3");
  return library;
}

template <typename Function>
Function* find(void* library, const char* name) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw std::runtime_error(std::string("OpenSSL has no ") + name);
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace

#define PASSED_ON(library, result, name, parameters, arguments)           \
  extern "C" result name parameters {                                     \
    static auto* const function = find<decltype(name)>(library(), #name); \
    return function arguments;                                            \
  }

// clang-format off
PASSED_ON(crypto, const EVP_MD*, EVP_md5, (), ())
PASSED_ON(crypto, const EVP_MD*, EVP_sha256, (), ())
PASSED_ON(crypto, EVP_MD_CTX*, EVP_MD_CTX_new, (), ())
PASSED_ON(crypto, void, EVP_MD_CTX_free, (EVP_MD_CTX* context), (context))
PASSED_ON(crypto, int, EVP_DigestInit_ex, (EVP_MD_CTX* context, const EVP_MD* type, ENGINE* engine), (context, type, engine))
PASSED_ON(crypto, int, EVP_DigestUpdate, (EVP_MD_CTX* context, const void* bytes, size_t size), (context, bytes, size))
PASSED_ON(crypto, int, EVP_DigestFinal_ex, (EVP_MD_CTX* context, unsigned char* digest, unsigned* size), (context, digest, size))
PASSED_ON(crypto, int, EVP_Digest, (const void* bytes, size_t size, unsigned char* digest, unsigned* digest_size, const EVP_MD* type, ENGINE* engine), (bytes, size, digest, digest_size, type, engine))
PASSED_ON(crypto, unsigned char*, HMAC, (const EVP_MD* type, const void* key, int key_size, const unsigned char* bytes, size_t size, unsigned char* digest, unsigned* digest_size), (type, key, key_size, bytes, size, digest, digest_size))
PASSED_ON(crypto, BIO*, BIO_new, (const BIO_METHOD* type), (type))
PASSED_ON(crypto, const BIO_METHOD*, BIO_s_mem, (), ())
PASSED_ON(crypto, long, BIO_ctrl, (BIO* bio, int command, long number, void* pointer), (bio, command, number, pointer))
PASSED_ON(crypto, int, BIO_write, (BIO* bio, const void* bytes, int size), (bio, bytes, size))
PASSED_ON(crypto, void, ERR_clear_error, (), ())
PASSED_ON(crypto, unsigned long, ERR_get_error, (), ())
PASSED_ON(crypto, void, ERR_error_string_n, (unsigned long code, char* text, size_t size), (code, text, size))
PASSED_ON(crypto, const char*, X509_verify_cert_error_string, (long code), (code))
PASSED_ON(crypto, int, X509_VERIFY_PARAM_set1_ip_asc, (X509_VERIFY_PARAM* parameters, const char* address), (parameters, address))
PASSED_ON(tls, const SSL_METHOD*, TLS_client_method, (), ())
PASSED_ON(tls, SSL_CTX*, SSL_CTX_new, (const SSL_METHOD* method), (method))
PASSED_ON(tls, void, SSL_CTX_free, (SSL_CTX* context), (context))
PASSED_ON(tls, long, SSL_CTX_ctrl, (SSL_CTX* context, int command, long number, void* pointer), (context, command, number, pointer))
PASSED_ON(tls, void, SSL_CTX_set_verify, (SSL_CTX* context, int mode, SSL_verify_cb callback), (context, mode, callback))
PASSED_ON(tls, int, SSL_CTX_set_default_verify_paths, (SSL_CTX* context), (context))
PASSED_ON(tls, int, SSL_CTX_load_verify_locations, (SSL_CTX* context, const char* file, const char* folder), (context, file, folder))
PASSED_ON(tls, SSL*, SSL_new, (SSL_CTX* context), (context))
PASSED_ON(tls, void, SSL_free, (SSL* ssl), (ssl))
PASSED_ON(tls, long, SSL_ctrl, (SSL* ssl, int command, long number, void* pointer), (ssl, command, number, pointer))
PASSED_ON(tls, void, SSL_set_bio, (SSL* ssl, BIO* incoming, BIO* outgoing), (ssl, incoming, outgoing))
PASSED_ON(tls, BIO*, SSL_get_rbio, (const SSL* ssl), (ssl))
PASSED_ON(tls, BIO*, SSL_get_wbio, (const SSL* ssl), (ssl))
PASSED_ON(tls, void, SSL_set_verify, (SSL* ssl, int mode, SSL_verify_cb callback), (ssl, mode, callback))
PASSED_ON(tls, X509_VERIFY_PARAM*, SSL_get0_param, (SSL* ssl), (ssl))
PASSED_ON(tls, int, SSL_set1_host, (SSL* ssl, const char* host), (ssl, host))
PASSED_ON(tls, int, SSL_connect, (SSL* ssl), (ssl))
PASSED_ON(tls, int, SSL_read, (SSL* ssl, void* bytes, int size), (ssl, bytes, size))
PASSED_ON(tls, int, SSL_peek, (SSL* ssl, void* bytes, int size), (ssl, bytes, size))
PASSED_ON(tls, int, SSL_write, (SSL* ssl, const void* bytes, int size), (ssl, bytes, size))
PASSED_ON(tls, int, SSL_get_error, (const SSL* ssl, int result), (ssl, result))
PASSED_ON(tls, long, SSL_get_verify_result, (const SSL* ssl), (ssl))
// clang-format on
