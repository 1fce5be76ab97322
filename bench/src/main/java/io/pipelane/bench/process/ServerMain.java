package io.pipelane.bench.process;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.server.PipelaneServer;
import java.io.IOException;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.Map;

/**
 * The program of a process that serves with Pipelane until its standard input ends. Its arguments
 * are settings, {@code KEY=VALUE}.
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
      server.grpcAddress().ifPresent(address -> say("gRPC on grpc://" + address));
      System.in.transferTo(OutputStream.nullOutputStream());
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
