package io.pipelane.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The front ends. */
public record ServerConfig(
    @Key(about = "Host name or address to listen on; 0.0.0.0 for all", standard = "127.0.0.1")
        HostName host,
    @Key(
            about = "Port to listen on; 0 picks a free one",
            standard = "8000",
            min = "0",
            max = "65535")
        int httpPort,
    @Key(
            about = "Port to listen on for gRPC; 0 picks a free one, -1 does without gRPC",
            unset = "the port after server.http-port, a free one where that is free",
            min = "-1",
            max = "65535")
        Optional<Integer> grpcPort,
    @Key(
            about = "Certificate to show, with those that lead to its authority, in PEM",
            unset = "connections without TLS")
        Optional<Path> tlsCertificate,
    @Key(about = "The certificate's key, in PEM: PKCS #8, not encrypted") Optional<Path> tlsKey,
    @Key(
            about = "Certificates of the authorities that sign clients', in PEM",
            unset = "clients need no certificate")
        Optional<Path> tlsClientAuthorities,
    @Key(
            about =
                "Origins of the server's own pages, as browsers know them, where a proxy stands"
                    + " between that changes Host, like https://models.example",
            unset = "pages are known by Host")
        Optional<Addresses> origins,
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
            about =
                "How long a connection may be silent, or a request come or an answer be taken at"
                    + " less than 1 KiB a second, before it is closed",
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
  /** Of TCP. */
  public static final int LARGEST_PORT = 65_535;

  /** Where gRPC is listened for; 0 for a free port, -1 for none. */
  public int effectiveGrpcPort() {
    return grpcPort.orElseGet(() -> httpPort % LARGEST_PORT == 0 ? 0 : httpPort + 1);
  }

  /** A way to drive sockets. */
  public enum Transport {
    AUTO,
    IO_URING,
    EPOLL,
    NIO
  }
}
