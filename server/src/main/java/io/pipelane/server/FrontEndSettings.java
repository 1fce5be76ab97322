package io.pipelane.server;

import io.pipelane.config.section.ServerConfig;
import io.pipelane.config.value.Addresses;
import io.pipelane.server.grpc.GrpcSettings;
import io.pipelane.server.http.HttpSettings;
import io.pipelane.server.net.Tls;
import io.pipelane.server.net.Transport;
import java.util.List;
import java.util.Optional;

/** The settings that a configuration has for the front ends. */
final class FrontEndSettings {
  private FrontEndSettings() {}

  static HttpSettings http(ServerConfig server, Optional<Tls> tls) {
    return new HttpSettings(
        server.host().text(),
        server.httpPort(),
        Transport.valueOf(server.transport().name()),
        eventLoops(server),
        Math.toIntExact(server.maxRequestSize().bytes()),
        server.maxConnections(),
        server.idleTimeout(),
        tls,
        server.origins().map(Addresses::urls).orElse(List.of()));
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
        server.host().text(),
        server.effectiveGrpcPort(),
        Transport.valueOf(server.transport().name()),
        eventLoops(server),
        Math.toIntExact(server.maxRequestSize().bytes()),
        server.maxConnections(),
        server.idleTimeout(),
        tls);
  }

  private static int eventLoops(ServerConfig server) {
    int loops = server.eventLoops();
    return loops == 0 ? Math.max(1, Runtime.getRuntime().availableProcessors() / 2) : loops;
  }
}
