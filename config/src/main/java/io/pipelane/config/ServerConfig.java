package io.pipelane.config;

import java.time.Duration;

/** The HTTP front end. */
public record ServerConfig(
    @Key(about = "Host name or address to listen on; 0.0.0.0 for all", standard = "127.0.0.1")
        String host,
    @Key(
            about = "Port to listen on; 0 picks a free one",
            standard = "8000",
            min = "0",
            max = "65535")
        int httpPort,
    @Key(about = "How sockets are driven; auto picks the fastest there is", standard = "auto")
        Transport transport,
    @Key(
            about = "Threads that drive sockets; 0 derives them from the processors",
            standard = "0",
            min = "0",
            max = "64")
        int eventLoops,
    @Key(about = "Largest request body", standard = "64MiB", min = "1KiB", max = "1GiB")
        ByteSize maxRequestSize,
    @Key(
            about =
                "Host memory, pinned where there is a GPU, that large requests and answers pass"
                    + " through; what does not fit is copied once more",
            standard = "128MiB",
            min = "1MiB",
            max = "64GiB")
        ByteSize transferMemory,
    @Key(
            about = "Connections open at a time; more are refused",
            standard = "10000",
            min = "1",
            max = "1000000")
        int maxConnections,
    @Key(
            about = "How long a connection may be silent before it is closed",
            standard = "60s",
            min = "1s",
            max = "24h")
        Duration idleTimeout,
    @Key(
            about = "How long running requests may take to finish when the server stops",
            standard = "30s",
            min = "0s",
            max = "1h")
        Duration drainTimeout) {

  /** A way to drive sockets. */
  public enum Transport {
    AUTO,
    IO_URING,
    EPOLL,
    NIO
  }
}
