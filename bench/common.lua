-- What the scripts for wrk share: the headers of a request, and the report, one line of JSON in microseconds.
local headers = {
  ["Content-Type"] = "application/x-amz-json-1.0",
  ["X-Amz-Date"] = "20261115T000000Z",
  ["Authorization"] = "AWS4-HMAC-SHA256 Credential=bench/20261115/us-east-1/dynamodb/aws4_request, "
    .. "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" .. string.rep("0123456789abcdef", 4),
}

function done(summary, latency, _)
  io.write(string.format(
    'RESULT {"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"max_us":%d,"failed":%d,"lost":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end

return headers
