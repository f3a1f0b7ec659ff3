// The server's process: options, start, signals, end.
#pragma once

namespace stator::server {

// Runs the server until SIGTERM or SIGINT. The exit code: 0 after a proper end, 1 if it cannot
// start or had to cut requests off, 2 for wrong options.
int run(int argc, char** argv);

}  // namespace stator::server
