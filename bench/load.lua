-- Sends the requests of a file over and over: BENCH_REQUESTS names it, a line has the operation, a tab and the body.
local requests = {}
local at = 0

local headers = dofile(os.getenv("BENCH_HOME") .. "/common.lua")

function init(_)
  for line in io.lines(os.getenv("BENCH_REQUESTS")) do
    local operation, body = line:match("^(%w+)\t(.*)$")
    headers["X-Amz-Target"] = "DynamoDB_20120810." .. operation
    requests[#requests + 1] = wrk.format("POST", "/", headers, body)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
