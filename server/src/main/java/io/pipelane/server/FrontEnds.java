package io.pipelane.server;

import io.pipelane.config.section.ServerConfig;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.device.OpenParts;
import io.pipelane.server.grpc.GrpcServer;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.http.HttpServer;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Tls;
import io.pipelane.server.net.Transport;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;

/** The front ends of a server: HTTP, and gRPC where it is configured. */
final class FrontEnds implements AutoCloseable {
  private final OpenParts opened = new OpenParts();
  private final HttpServer http;
  private final Optional<GrpcServer> grpc;

  private FrontEnds(
      ServerConfig config,
      Optional<Tls> tls,
      Backend backend,
      Optional<Hosts> hosts,
      TransferMemory transferMemory) {
    try {
      http =
          opened.add(
              HttpServer.start(FrontEndSettings.http(config, tls), backend, hosts, transferMemory));
      grpc =
          config.effectiveGrpcPort() < 0
              ? Optional.empty()
              : Optional.of(
                  opened.add(
                      GrpcServer.start(
                          FrontEndSettings.grpc(config, tls), backend, hosts, transferMemory)));
    } catch (RuntimeException | Error e) {
      opened.closeAfter(e);
      throw e;
    }
  }

  /**
   * Listens and serves.
   *
   * @param hosts other hosts that may answer
   * @param transferMemory where large requests and answers lie, as far as it goes
   */
  static FrontEnds start(
      ServerConfig config,
      Optional<Tls> tls,
      Backend backend,
      Optional<Hosts> hosts,
      TransferMemory transferMemory) {
    return new FrontEnds(config, tls, backend, hosts, transferMemory);
  }

  /** Where HTTP is listened for. */
  InetSocketAddress address() {
    return http.address();
  }

  /** The same as an address that clients take. */
  String url() {
    return http.url();
  }

  /** Where gRPC clients connect, such as {@code 127.0.0.1:8001}; empty without gRPC. */
  Optional<String> grpcAddress() {
    return grpc.map(GrpcServer::address).map(FrontEnds::text);
  }

  /** How sockets are driven. */
  Transport transport() {
    return http.transport();
  }

  /** Says where they listen. */
  void announce(PrintStream out) {
    out.println("Listening on " + url());
    http.managementAddress()
        .ifPresent(address -> out.println("Listening for management on " + text(address)));
    grpcAddress().ifPresent(address -> out.println("Listening for gRPC on " + address));
  }

  private static String text(InetSocketAddress address) {
    return address.getAddress().getHostAddress() + ":" + address.getPort();
  }

  /** Takes no more requests from now on; returns at once. */
  void beginDrain() {
    http.beginDrain();
    grpc.ifPresent(GrpcServer::beginDrain);
  }

  /**
   * The same, and waits until the requests that run are answered.
   *
   * @return whether all were within the time
   */
  boolean drain(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    boolean answered = http.drain(timeout);
    if (grpc.isPresent()) {
      long left = Math.max(0, deadline - System.nanoTime());
      answered &= grpc.get().drain(Duration.ofNanos(left));
    }
    return answered;
  }

  @Override
  public void close() {
    opened.close();
  }
}
