package io.pipelane.server;

import io.pipelane.modelstore.ChildJvm;
import io.pipelane.server.cli.Pipelane;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** {@code pipelane serve} in a process of its own, of an empty repository. */
final class ServeProgram {
  private ServeProgram() {}

  /**
   * Starts it.
   *
   * @param folder gets {@code repository}, {@code cache}, and what it prints in {@code server.log}
   * @param options beside those that name them, and a port and memory
   */
  static Process start(Path folder, String... options) throws IOException {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "serve",
                "--repository.path=" + Files.createDirectories(folder.resolve("repository")),
                "--repository.cache=" + folder.resolve("cache"),
                "--server.http-port=0",
                "--device.memory=16MiB"));
    arguments.addAll(List.of(options));
    return ChildJvm.program(
            "exec \"$@\"", List.of(), List.of("-Xmx256m"), Pipelane.class, arguments)
        .redirectOutput(folder.resolve("server.log").toFile())
        .start();
  }
}
