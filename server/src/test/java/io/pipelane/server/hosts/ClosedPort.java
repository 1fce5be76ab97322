package io.pipelane.server.hosts;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;

/** A port where nobody listens, nor can begin to until this is closed. */
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
