package io.pipelane.loadgen;

import io.pipelane.loadgen.grpc.GrpcServerClient;
import io.pipelane.loadgen.server.HttpServerClient;
import io.pipelane.loadgen.server.ServerClient;
import io.pipelane.loadgen.settings.Endpoint;

/** Servers by what they are spoken to in. */
final class Servers {
  private Servers() {}

  /** Asks a server about itself, in what its address says. */
  static ServerClient client(Endpoint endpoint) {
    return endpoint.isGrpc() ? new GrpcServerClient(endpoint) : new HttpServerClient(endpoint);
  }
}
