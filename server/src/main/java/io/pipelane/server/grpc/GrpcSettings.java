package io.pipelane.server.grpc;

import io.pipelane.server.net.Tls;
import io.pipelane.server.net.Transport;
import java.time.Duration;
import java.util.Optional;

/**
 * The settings of the gRPC front end.
 *
 * @param port 0 picks a free one
 * @param maxMessageBytes the largest request, and the largest output
 * @param maxConnections connections beyond it are closed
 * @param idleTimeout after which a connection without calls is closed, and in which a message that
 *     comes slowly must at least bring something
 * @param tls empty for connections that are not encrypted
 */
public record GrpcSettings(
    String host,
    int port,
    Transport transport,
    int eventLoops,
    int maxMessageBytes,
    int maxConnections,
    Duration idleTimeout,
    Optional<Tls> tls) {}
