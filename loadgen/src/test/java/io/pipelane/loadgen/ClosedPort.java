package io.pipelane.loadgen;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;

/**
 * A port that nobody listens on, and that nobody else gets until it is closed: it is bound. The
 * port of a server that was closed may be another program's by the time it is asked.
 */
public final class ClosedPort implements AutoCloseable {
  private final Socket bound = new Socket();

  public ClosedPort() throws IOException {
    bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  /** Its address, of HTTP. */
  public URI url() {
    return URI.create("http://127.0.0.1:" + bound.getLocalPort());
  }

  @Override
  public void close() throws IOException {
    bound.close();
  }
}
