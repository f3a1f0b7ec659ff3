-- One kind of request over GROWTH_ITEMS items, twenty to a partition, each at random: GROWTH_KIND is load, get, put or
-- query. Loading goes on from GROWTH_FROM, 25 items at a time.
local kind = os.getenv("GROWTH_KIND")
local items = tonumber(os.getenv("GROWTH_ITEMS"))
local at = tonumber(os.getenv("GROWTH_FROM") or "0")
local format = string.format
local payload = string.rep("aB3dE6gH9j", 13)

local headers = dofile(os.getenv("BENCH_HOME") .. "/common.lua")

local function key(n)
  return format('"pk":{"S":"user#%08d"},"sk":{"S":"row#%02d"}', math.floor(n / 20), n % 20)
end

local function item(n)
  return format('{%s,"count":{"N":"%d"},"payload":{"S":"%s%08d"}}', key(n), n, payload, math.random(0, 99999999))
end

local bodies = {
  load = function()
    local puts = {}
    for i = 1, 25 do
      puts[i] = format('{"PutRequest":{"Item":%s}}', item(at % items))
      at = at + 1
    end
    return format('{"RequestItems":{"Growth":[%s]}}', table.concat(puts, ","))
  end,
  get = function()
    return format('{"TableName":"Growth","Key":{%s}}', key(math.random(0, items - 1)))
  end,
  put = function()
    return format('{"TableName":"Growth","Item":%s}', item(math.random(0, items - 1)))
  end,
  query = function()
    return format('{"TableName":"Growth","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":'
      .. '"user#%08d"}}}', math.random(0, math.floor(items / 20) - 1))
  end,
}
local operations = { load = "BatchWriteItem", get = "GetItem", put = "PutItem", query = "Query" }

function init(_)
  headers["X-Amz-Target"] = "DynamoDB_20120810." .. operations[kind]
  math.randomseed(20261115)
end

function request()
  return wrk.format("POST", "/", headers, bodies[kind]())
end
