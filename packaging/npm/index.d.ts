export interface StartOptions {
  /** A free port by default. */
  port?: number;
  host?: string;
  /** Keeps nothing; the default unless `dataDir` is given. */
  inMemory?: boolean;
  dataDir?: string;
  /** Further flags, as on the command line. */
  args?: string[];
  env?: Record<string, string>;
  /** The server; found by STATOR_BINARY, beside the package, or on the PATH by default. */
  binary?: string;
  /** Writes the server's log to standard error. */
  log?: boolean;
  startTimeoutMs?: number;
}

export interface Server {
  readonly endpoint: string;
  readonly port: number;
  readonly pid: number;
  /** For `new DynamoDBClient(server.clientConfig)`. */
  readonly clientConfig: {
    endpoint: string;
    region: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
  };
  /** Ends the server after the requests under way and resolves with its exit code. */
  stop(): Promise<number | null>;
}

export function start(options?: StartOptions): Promise<Server>;
export function findBinary(env?: Record<string, string | undefined>): string;
export function run(args: string[]): Promise<number>;
