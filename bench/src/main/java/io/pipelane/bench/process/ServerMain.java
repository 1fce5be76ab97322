package io.pipelane.bench.process;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.server.PipelaneServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * The program of a process that serves with Pipelane until its standard input ends. Its arguments
 * are settings, {@code KEY=VALUE}. To a line with a model's name it answers {@code true} when that
 * model runs in its packed form, else {@code false}.
 */
public final class ServerMain {
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
      BufferedReader input =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String model = input.readLine(); model != null; model = input.readLine()) {
        say(Boolean.toString(Readiness.isPacked(server, model)));
      }
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
