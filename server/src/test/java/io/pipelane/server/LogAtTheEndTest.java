package io.pipelane.server;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.regex.Pattern.MULTILINE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.process.Signals;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** A server in a process of its own that is told to stop while a request does not end. */
@Timeout(120)
class LogAtTheEndTest {
  /** The whole line, of which half may be there at first. */
  private static final Pattern LISTENS = Pattern.compile("^Listening on (\\S+)\n", MULTILINE);

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path folder;

  private final Patience patience = Patience.begin();

  @Test
  void serve_requestOutlastsTheDrain_logSaysSoAndItExitsWithOne() throws Exception {
    Process server =
        ServeProgram.start(
            folder,
            "--repository.upload=true",
            "--server.grpc-port=-1",
            "--server.drain-timeout=300ms");
    try {
      patience.awaitTrue("it listens", () -> LISTENS.matcher(log()).find());
      try (Socket client = connect()) {
        String head = "PUT /v2/repository/models/m/versions/1 HTTP/1.1\r\nHost: localhost\r\n";
        client.getOutputStream().write((head + "Content-Length: 9\r\n\r\nm").getBytes(US_ASCII));
        patience.awaitTrue("the upload has begun", () -> !isEmpty(folder.resolve("repository")));

        Signals.send("TERM", server.pid());
        assertTrue(server.waitFor(40, TimeUnit.SECONDS), "it ends");
      }
      assertEquals(1, server.exitValue(), () -> "see " + folder);
      assertTrue(log().contains("HTTP ends with 1 requests under way"), () -> "see " + folder);
    } finally {
      server.destroyForcibly().waitFor();
    }
  }

  private Socket connect() throws IOException {
    Matcher listens = LISTENS.matcher(log());
    assertTrue(listens.find());
    int port = URI.create(listens.group(1)).getPort();
    return new Socket(InetAddress.getLoopbackAddress(), port);
  }

  private String log() throws IOException {
    return Files.readString(folder.resolve("server.log"));
  }

  private static boolean isEmpty(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.findAny().isEmpty();
    }
  }
}
