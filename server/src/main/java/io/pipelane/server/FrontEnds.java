package io.pipelane.server;

import io.pipelane.config.ServerConfig;
import io.pipelane.server.grpc.GrpcSettings;
import io.pipelane.server.http.HttpSettings;
import io.pipelane.server.net.Tls;
import io.pipelane.server.net.Transport;
import java.util.Optional;

/** What the front ends are to know of the configuration. */
final class FrontEnds {
  private FrontEnds() {}

  static HttpSettings http(ServerConfig server, Optional<Tls> tls) {
    return new HttpSettings(
        server.host(),
        server.httpPort(),
        Transport.valueOf(server.transport().name()),
        eventLoops(server),
        Math.toIntExact(server.maxRequestSize().bytes()),
        server.maxConnections(),
        server.idleTimeout(),
        tls);
  }

  /** What TLS is made of; the configuration has both files or neither. */
  static Optional<Tls.Files> tls(ServerConfig server) {
    return server
        .tlsCertificate()
        .map(
            certificate ->
                new Tls.Files(
                    certificate, server.tlsKey().orElseThrow(), server.tlsClientAuthorities()));
  }

  static GrpcSettings grpc(ServerConfig server, Optional<Tls> tls) {
    return new GrpcSettings(
        server.host(),
        server.effectiveGrpcPort(),
        Transport.valueOf(server.transport().name()),
        eventLoops(server),
        Math.toIntExact(server.maxRequestSize().bytes()),
        server.idleTimeout(),
        tls);
  }

  private static int eventLoops(ServerConfig server) {
    int loops = server.eventLoops();
    return loops == 0 ? Math.max(1, Runtime.getRuntime().availableProcessors() / 2) : loops;
  }
}
