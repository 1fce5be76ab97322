package io.pipelane.server.hosts;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.server.net.Program;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** An etcd of one member in a process of its own, on ports of its own. */
public final class Etcd implements AutoCloseable {
  private static final long LIMIT_NANOS = 30_000_000_000L;

  private final Path folder;
  private final int clientPort;
  private final int peerPort;
  private @Nullable Process process;

  /** One that has not been started, whose data will lie in a folder. */
  Etcd(Path folder) throws IOException {
    this.folder = folder;
    InetAddress here = InetAddress.getLoopbackAddress();
    try (ServerSocket client = new ServerSocket(0, 1, here);
        ServerSocket peer = new ServerSocket(0, 1, here)) {
      clientPort = client.getLocalPort();
      peerPort = peer.getLocalPort();
    }
  }

  /** Skips the test, and says so, where etcd is not installed. */
  public static void assumeInstalled() throws InterruptedException {
    assumeTrue(Program.works("etcd", "--version"), "etcd is not installed");
  }

  /** Starts one whose data lies in a folder; returns once it takes connections. */
  public static Etcd start(Path folder) throws IOException {
    Etcd etcd = new Etcd(folder);
    etcd.start();
    return etcd;
  }

  /** Starts it, the second time with what it had; returns once it takes connections. */
  void start() throws IOException {
    String client = url().toString();
    String peer = "http://127.0.0.1:" + peerPort;
    Path log = folder.resolve("etcd.log");
    Process started =
        new ProcessBuilder(
                List.of(
                    "etcd",
                    "--data-dir=" + folder.resolve("data"),
                    "--listen-client-urls=" + client,
                    "--advertise-client-urls=" + client,
                    "--listen-peer-urls=" + peer,
                    "--initial-advertise-peer-urls=" + peer,
                    "--initial-cluster=default=" + peer,
                    "--heartbeat-interval=50",
                    "--election-timeout=500",
                    "--unsafe-no-fsync"))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    process = started;
    long start = System.nanoTime();
    while (!takesConnections()) {
      assertTrue(started.isAlive(), () -> "etcd has ended:\n" + text(log));
      assertTrue(System.nanoTime() - start < LIMIT_NANOS, "etcd listens, in time");
      LockSupport.parkNanos(10_000_000);
    }
  }

  private boolean takesConnections() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), clientPort)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Where clients connect. */
  public URI url() {
    return URI.create("http://127.0.0.1:" + clientPort);
  }

  /** Kills it; its data stays. */
  @Override
  public void close() {
    if (process != null) {
      process.destroyForcibly();
      try {
        process.waitFor();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
