package io.pipelane.config.section;

import io.pipelane.config.value.Addresses;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.HostName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The front ends. */
public record ServerConfig(
    @Key(
            about = "Host name or address to listen on; 0.0.0.0 means all addresses",
            standard = "127.0.0.1")
        HostName host,
    @Key(about = "Port for HTTP; 0 picks a free one", standard = "8000", min = "0", max = "65535")
        int httpPort,
    @Key(
            about = "Port for gRPC; 0 picks a free one, -1 turns gRPC off",
            unset = "the port after server.http-port, or a free one if server.http-port is 0",
            min = "-1",
            max = "65535")
        Optional<Integer> grpcPort,
    @Key(
            about =
                "The server's certificate in PEM, with the intermediate certificates up to its"
                    + " authority",
            unset = "connections without TLS")
        Optional<Path> tlsCertificate,
    @Key(about = "The private key of the server's certificate, in PEM: PKCS #8, not encrypted")
        Optional<Path> tlsKey,
    @Key(
            about =
                "Certificates of the authorities that sign the certificates of clients, in PEM."
                    + " If set, a client must show a certificate from one of them",
            unset = "clients need no certificate")
        Optional<Path> tlsClientAuthorities,
    @Key(
            about =
                "Origins at which browsers see the server's own pages, such as"
                    + " https://models.example. Needed behind a proxy that changes the Host header",
            unset = "pages are recognised by the Host header")
        Optional<Addresses> origins,
    @Key(
            about =
                "How the server drives its sockets; auto picks the fastest way that this machine"
                    + " has",
            standard = "auto")
        Transport transport,
    @Key(
            about = "Threads that drive sockets; with 0 the number follows from the processors",
            standard = "0",
            min = "0",
            max = "64")
        int eventLoops,
    @Key(about = "Largest request body", standard = "64MiB", min = "1KiB", max = "1GiB")
        ByteSize maxRequestSize,
    @Key(
            about =
                "Host memory that large requests and answers pass through; it is pinned where"
                    + " there is a GPU. What does not fit is copied once more",
            unset = "128MiB on the CPU, 512MiB with GPUs",
            min = "1MiB",
            max = "64GiB")
        Optional<ByteSize> transferMemory,
    @Key(
            about = "Connections that may be open at a time; the server refuses more",
            standard = "10000",
            min = "1",
            max = "1000000")
        int maxConnections,
    @Key(
            about =
                "How long a connection may be silent, or a request arrive or an answer be taken"
                    + " at less than 1 KiB a second. After that the server closes the connection",
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
  public static final int LARGEST_PORT = Addresses.LARGEST_PORT;

  private static final ByteSize CPU_TRANSFERS = ByteSize.ofMebibytes(128);

  /** For two answers of a language model at a time: 8 × 128 × 50,257 scores are 196 MiB. */
  private static final ByteSize GPU_TRANSFERS = ByteSize.ofMebibytes(512);

  /** The transfer memory of a server whose devices are processors. */
  public ByteSize transferMemoryForCpu() {
    return transferMemory.orElse(CPU_TRANSFERS);
  }

  /** The transfer memory of a server with GPUs: what it has no room for is copied slowly there. */
  public ByteSize transferMemoryForGpus() {
    return transferMemory.orElse(GPU_TRANSFERS);
  }

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
