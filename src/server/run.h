// The server's process: options, start, signals, end.
#pragma once

namespace stator::server {

// Without a command, or with `serve`, runs the server until SIGTERM or SIGINT; `config` prints what
// is in force, `health` asks a running server. The exit code: 0 after a proper end, 1 if it cannot
// start or had to cut requests off, 2 for wrong options.
int run(int argc, char** argv);

}  // namespace stator::server
