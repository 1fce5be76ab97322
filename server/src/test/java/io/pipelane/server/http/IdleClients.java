package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Clients that have had an answer and ask nothing more, in a process of their own: it has as many
 * descriptors as the server's.
 */
final class IdleClients implements AutoCloseable {
  private static final byte[] LIVE =
      Requests.get("/v2/health/live").getBytes(StandardCharsets.US_ASCII);

  private final Process process;
  private final PrintStream commands;
  private final BufferedReader answers;
  private final int count;

  /** Opens connections to a port of this machine, and waits until each has had an answer. */
  IdleClients(int port, int count) throws IOException {
    this.count = count;
    process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                IdleClients.class.getName(),
                Integer.toString(port),
                Integer.toString(count))
            .redirectError(Redirect.INHERIT)
            .start();
    commands = new PrintStream(process.getOutputStream(), true, StandardCharsets.US_ASCII);
    answers =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
    expectAnswered();
  }

  private void expectAnswered() throws IOException {
    assertEquals("answered " + count, answers.readLine());
  }

  /** Has each ask once more on its connection. */
  void ask() throws IOException {
    commands.println("ask");
    expectAnswered();
  }

  /** Has the connections closed, and waits for that. */
  @Override
  public void close() {
    commands.close();
    process.onExit().join();
  }

  /** Connections that a process may open beside what it has open now. */
  static long descriptors() {
    UnixOperatingSystemMXBean system =
        ManagementFactory.getPlatformMXBean(UnixOperatingSystemMXBean.class);
    return system.getMaxFileDescriptorCount() - system.getOpenFileDescriptorCount();
  }

  /** The other process: a port and how many. */
  public static void main(String[] arguments) throws IOException {
    List<Socket> sockets = new ArrayList<>();
    for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
      sockets.add(socket);
      ask(socket);
    }
    System.out.println("answered " + sockets.size());
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    while (commands.readLine() != null) {
      for (Socket socket : sockets) {
        ask(socket);
      }
      System.out.println("answered " + sockets.size());
    }
    for (Socket socket : sockets) {
      socket.close();
    }
  }

  /** Asks for liveness; the answer's body ends with a brace. */
  static void ask(Socket socket) throws IOException {
    socket.getOutputStream().write(LIVE);
    int next = socket.getInputStream().read();
    StringBuilder text = new StringBuilder();
    while (next != '}') {
      if (next < 0) {
        throw new IOException("the server has closed the connection behind \"" + text + "\"");
      }
      text.append((char) next);
      next = socket.getInputStream().read();
    }
    if (!text.toString().startsWith("HTTP/1.1 200 ")) {
      throw new IOException(text.toString());
    }
  }
}
