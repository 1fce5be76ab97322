package io.pipelane.loadgen;

import java.io.BufferedInputStream;
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
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** An HTTP/1.1 server whose answers a test decides about; it can also hang up. */
public final class ScriptedServer implements AutoCloseable {
  private final ServerSocket listening;
  private final Thread accepting;
  private final Function<Request, Optional<String>> script;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  public final AtomicInteger accepted = new AtomicInteger();

  /** A request as it came in. */
  public record Request(String startLine, String head, String body) {
    public String header(String name) {
      return head.lines()
          .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(name + ":"))
          .map(line -> line.substring(name.length() + 1).strip())
          .findFirst()
          .orElse("");
    }
  }

  /**
   * Starts on a free port.
   *
   * @param script gives the bytes of the whole answer; without one the connection is closed
   */
  public ScriptedServer(Function<Request, Optional<String>> script) throws IOException {
    this.script = script;
    this.listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    this.accepting = Thread.ofPlatform().daemon().name("scripted-server").start(this::accept);
  }

  public static Optional<String> answer(int status, String headers, String body) {
    return Optional.of(
        "HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n%s"
            .formatted(status, body.length(), headers, body));
  }

  public URI url() {
    return URI.create("http://127.0.0.1:" + listening.getLocalPort());
  }

  /** From now on nobody can connect; those who have are answered as before. */
  public void stopAccepting() {
    try {
      listening.close();
      // the port takes connections until the thread has left its accept
      accepting.join();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() throws IOException {
    stopAccepting();
    for (Socket socket : sockets) {
      socket.close();
    }
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket socket = listening.accept();
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        accepted.incrementAndGet();
        Thread.ofPlatform().daemon().start(() -> serve(socket));
      } catch (IOException e) {
        if (!listening.isClosed()) {
          throw new UncheckedIOException(e);
        }
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      InputStream in = new BufferedInputStream(socket.getInputStream());
      while (true) {
        Optional<String> answer = script.apply(read(in));
        if (answer.isEmpty()) {
          return;
        }
        socket.getOutputStream().write(answer.get().getBytes(StandardCharsets.ISO_8859_1));
      }
    } catch (IOException e) {
      // the client went away
    } finally {
      sockets.remove(socket);
    }
  }

  private static Request read(InputStream in) throws IOException {
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
      int next = in.read();
      if (next < 0) {
        throw new EOFException();
      }
      head.write(next);
    }
    String text = head.toString(StandardCharsets.ISO_8859_1);
    Request request = new Request(text.lines().findFirst().orElse(""), text, "");
    String length = request.header("content-length");
    byte[] body = in.readNBytes(length.isEmpty() ? 0 : Integer.parseInt(length));
    return new Request(request.startLine, text, new String(body, StandardCharsets.ISO_8859_1));
  }
}
