package io.pipelane.bench.noop;

import io.pipelane.bench.bare.BareServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The program of a process with a {@link BareServer}. Arguments: a file with the bytes of the whole
 * answer, the number of event loops. It ends with its standard input.
 */
public final class NettyMain {
  private NettyMain() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    byte[] answer = Files.readAllBytes(Path.of(arguments[0]));
    try (BareServer server = new BareServer(answer, Integer.parseInt(arguments[1]))) {
      server.serveUntilInputEnds();
    }
  }
}
