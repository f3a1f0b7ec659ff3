// Tells the service manager (systemd, unit type "notify") how far the process is. Without one
// ($NOTIFY_SOCKET is not set) it does nothing.
#pragma once

#include <string_view>

namespace stator::server {

// `state` is "READY=1", "STOPPING=1" or another line of that protocol.
void tell_service_manager(std::string_view state);

}  // namespace stator::server
