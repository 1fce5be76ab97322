package io.pipelane.bench.process;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.server.PipelaneServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The program of a process that serves with Pipelane until its standard input ends. Its arguments
 * are settings, {@code KEY=VALUE}.
 */
public final class ServerMain {
  /** A line of its input that asks for a line of {@link #LEDGER}. */
  public static final String VERIFY = "verify";

  /** What that line begins with; {@link #EXACT} follows, or what does not add up. */
  public static final String LEDGER = "Ledger: ";

  public static final String EXACT = "exact";

  private ServerMain() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    Map<String, String> values = new HashMap<>();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      values.put(argument.substring(0, equals), argument.substring(equals + 1));
    }
    try (PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(values))) {
      Readiness.await(server);
      say("Listening on " + server.url());
      server.grpcAddress().ifPresent(address -> say("gRPC on grpc://" + address));
      answerQuestions(server);
    }
  }

  private static void answerQuestions(PipelaneServer server) throws IOException {
    BufferedReader questions =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (@Nullable String line = questions.readLine(); line != null; line = questions.readLine()) {
      if (line.equals(VERIFY)) {
        say(LEDGER + verified(server));
      }
    }
  }

  private static String verified(PipelaneServer server) {
    try {
      server.devices().verify();
      return EXACT;
    } catch (IllegalStateException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
