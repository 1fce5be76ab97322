package io.pipelane.loadgen.http;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.drive.Connection;
import io.pipelane.loadgen.drive.Transport;
import io.pipelane.loadgen.network.SendingThread;
import io.pipelane.loadgen.network.TrustManagers;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ResponseCheck;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/1.1, with TLS where the address asks for it; each connection carries a request at a time.
 */
public final class HttpTransport implements Transport {
  private static final int CONNECT_TIMEOUT_MILLIS = 5_000;

  private final SendingThread thread = new SendingThread();
  private final EncodedRequests requests;
  private final Bootstrap bootstrap;
  private final Endpoint endpoint;
  private final @Nullable SslContext security;
  private final boolean keepBodies;
  private final List<HttpConnection> connections = new ArrayList<>();

  /** Prepares the event loop and the bytes of all requests; opens nothing. */
  public HttpTransport(LoadTest test) {
    endpoint = test.endpoint();
    security = endpoint.isSecured() ? security(endpoint) : null;
    requests = new EncodedRequests(test);
    keepBodies = !test.check().equals(ResponseCheck.NONE);
    bootstrap =
        new Bootstrap()
            .group(thread.group())
            .channel(thread.channel())
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
            .remoteAddress(new InetSocketAddress(endpoint.host(), endpoint.port()));
  }

  @Override
  public long nanoTime() {
    return thread.nanoTime();
  }

  @Override
  public void at(long nanoTime, Runnable task) {
    thread.at(nanoTime, task);
  }

  @Override
  public void execute(Runnable task) {
    thread.execute(task);
  }

  @Override
  public Connection create(Connection.Listener listener) {
    HttpConnection connection =
        new HttpConnection(bootstrap, endpoint, security, requests, keepBodies, listener);
    connections.add(connection);
    return connection;
  }

  @Override
  public void close() {
    thread.execute(() -> connections.forEach(HttpConnection::close));
    thread.close();
    requests.close();
  }

  private static SslContext security(Endpoint endpoint) {
    try {
      return SslContextBuilder.forClient()
          .trustManager(TrustManagers.of(endpoint.trust()))
          .endpointIdentificationAlgorithm("HTTPS")
          .build();
    } catch (SSLException e) {
      throw new StatusException(Status.INTERNAL, "cannot set up TLS: " + e, e);
    }
  }
}
