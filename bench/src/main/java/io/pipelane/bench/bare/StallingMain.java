package io.pipelane.bench.bare;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The program of a process that answers every request at once, but stands still for a while every
 * so often and takes note of it. Arguments: a file with the bytes of the whole answer; the length
 * of a stall and the time from one to the next, in nanoseconds; the file to take note in. It ends
 * with its standard input.
 */
public final class StallingMain {
  private final long stallNanos;
  private final PrintWriter notes;

  private StallingMain(long stallNanos, PrintWriter notes) {
    this.stallNanos = stallNanos;
    this.notes = notes;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // stalls go on until the process ends
  public static void main(String[] arguments) throws IOException, InterruptedException {
    byte[] answer = Files.readAllBytes(Path.of(arguments[0]));
    long stallNanos = Long.parseLong(arguments[1]);
    long periodNanos = Long.parseLong(arguments[2]);
    try (PrintWriter notes =
            new PrintWriter(Files.newBufferedWriter(Path.of(arguments[3])), /* autoFlush= */ true);
        BareServer server = new BareServer(answer, 1)) {
      StallingMain stalling = new StallingMain(stallNanos, notes);
      server
          .eventLoop()
          .scheduleAtFixedRate(stalling::standStill, 0, periodNanos, TimeUnit.NANOSECONDS);
      server.serveUntilInputEnds();
    }
  }

  /** On the only event loop, so that nothing is accepted, read or answered meanwhile. */
  private void standStill() {
    long begin = System.nanoTime();
    long left = stallNanos;
    while (left > 0) {
      LockSupport.parkNanos(left);
      left = begin + stallNanos - System.nanoTime();
    }
    notes.println(System.nanoTime() - begin);
  }

  /** What a process has noted so far: how long each of its stalls was, in nanoseconds. */
  public static List<Long> notes(Path file) {
    try {
      String text = Files.readString(file, StandardCharsets.UTF_8);
      String whole = text.substring(0, text.lastIndexOf('\n') + 1);
      return whole.lines().map(Long::valueOf).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
