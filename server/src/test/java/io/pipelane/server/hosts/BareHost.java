package io.pipelane.server.hosts;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A host that answers each request with bytes that the test has written down. */
public final class BareHost implements AutoCloseable {
  private final ServerSocket listener;
  private final BlockingQueue<Script> scripts = new LinkedBlockingQueue<>();
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();

  /** What it was asked, in order. */
  public final List<Received> received = new CopyOnWriteArrayList<>();

  public final AtomicInteger connections = new AtomicInteger();

  /**
   * A request.
   *
   * @param fields by name in small letters
   * @param body a character for each byte
   */
  public record Received(String line, Map<String, String> fields, String body) {}

  /** What is done with a request. */
  public interface Script {
    void answer(Socket socket) throws Exception;
  }

  public BareHost() throws IOException {
    listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    Thread.startVirtualThread(this::accept);
  }

  public URI url() {
    return URI.create("http://127.0.0.1:" + listener.getLocalPort());
  }

  /** Does this with the next request that nothing has been said of. */
  public BareHost then(Script script) {
    scripts.add(script);
    return this;
  }

  /** Answers the next request with a text. */
  public BareHost then(String status, String body, String... fields) {
    return then(
        socket -> {
          socket
              .getOutputStream()
              .write(text(status, body, fields).getBytes(StandardCharsets.ISO_8859_1));
        });
  }

  /** An answer as it is sent. */
  public static String text(String status, String body, String... fields) {
    StringBuilder text = new StringBuilder("HTTP/1.1 ").append(status).append("\r\n");
    for (String field : fields) {
      text.append(field).append("\r\n");
    }
    return text + "Content-Length: " + body.length() + "\r\n\r\n" + body;
  }

  /** Sends the first bytes of a text, and closes the connection. */
  public static Script breakingOff(String text, int bytes) {
    return socket -> {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1), 0, bytes);
      socket.close();
    };
  }

  /** Says nothing until the other side closes, and tells of that. */
  public static Script silent(CountDownLatch asked, CountDownLatch closed) {
    return socket -> {
      asked.countDown();
      try {
        if (socket.getInputStream().read() < 0) {
          closed.countDown();
        }
      } catch (IOException e) {
        closed.countDown();
      }
    };
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = listener.accept();
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        connections.incrementAndGet();
        if (listener.isClosed()) {
          socket.close(); // It came while close() went through the others.
        }
        Thread.startVirtualThread(() -> serve(socket));
      }
    } catch (IOException e) {
      // It was closed.
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      while (!socket.isClosed()) {
        received.add(read(socket.getInputStream()));
        scripts.take().answer(socket);
      }
    } catch (Exception e) {
      // The other side has gone, or the test has.
    }
  }

  private static Received read(InputStream in) throws IOException {
    String line = line(in);
    Map<String, String> fields = new HashMap<>();
    for (String field = line(in); !field.isEmpty(); field = line(in)) {
      int colon = field.indexOf(':');
      fields.put(
          field.substring(0, colon).toLowerCase(Locale.ROOT), field.substring(colon + 1).strip());
    }
    int length = Integer.parseInt(fields.getOrDefault("content-length", "0"));
    byte[] body = in.readNBytes(length);
    if (body.length < length) {
      throw new EOFException();
    }
    return new Received(line, fields, new String(body, StandardCharsets.ISO_8859_1));
  }

  private static String line(InputStream in) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        throw new EOFException();
      }
      line.write(b);
    }
    return line.toString(StandardCharsets.ISO_8859_1).stripTrailing();
  }

  /** Closes every connection, and takes no more. */
  @Override
  public void close() {
    try {
      listener.close();
      for (Socket socket : sockets) {
        socket.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
