package io.pipelane.server.hosts;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * A port whose packets nobody answers: one that is listened at, with as many connections as may
 * wait and nobody who accepts them.
 */
public final class BlackHole implements AutoCloseable {
  /** What a connection to this machine takes less than. */
  private static final int PATIENCE_MILLIS = 200;

  private static final int MOST_WAITING = 64;

  private final ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
  private final List<Socket> waiting = new ArrayList<>();

  /** Skips the test where connections are taken although nobody accepts them. */
  public BlackHole() throws IOException {
    boolean isFull = false;
    while (!isFull) {
      if (waiting.size() == MOST_WAITING) {
        close();
        Assumptions.abort(MOST_WAITING + " connections wait, and more may");
      }
      Socket next = new Socket();
      waiting.add(next);
      try {
        next.connect(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), listener.getLocalPort()),
            PATIENCE_MILLIS);
      } catch (SocketTimeoutException e) {
        isFull = true;
      }
    }
  }

  /** Its address, of HTTP. */
  public URI url() {
    return URI.create("http://127.0.0.1:" + listener.getLocalPort());
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket socket : waiting) {
      socket.close();
    }
  }
}
