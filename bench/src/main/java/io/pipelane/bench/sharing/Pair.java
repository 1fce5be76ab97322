package io.pipelane.bench.sharing;

import io.pipelane.bench.accelerator.ModelCase;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * An online model and an offline one, in a repository that holds no others.
 *
 * @param repository holds both
 */
record Pair(Path repository, Asked online, Asked offline) {
  /**
   * A model and what it is asked.
   *
   * @param inputs of every request, once a server knows the model
   */
  record Asked(String model, Function<LocalPipelane, List<Tensor>> inputs) {}

  /**
   * Two of the demo's cases, by the beginnings of their names.
   *
   * @throws IllegalArgumentException when there is none of a name
   */
  static Pair ofDemo(Path work, String online, String offline) throws IOException {
    Path repository = work.resolve("sharing");
    BenchCase first = named(BenchCase.all(repository), online);
    BenchCase second = named(BenchCase.all(repository), offline);
    BenchCase.write(repository, List.of(first, second));
    return new Pair(
        repository,
        new Asked(first.model(), _ -> first.inputs()),
        new Asked(second.model(), _ -> second.inputs()));
  }

  private static BenchCase named(List<BenchCase> cases, String name) {
    return cases.stream()
        .filter(each -> each.name().startsWith(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "there is no case %s; there are %s"
                        .formatted(name, cases.stream().map(BenchCase::name).toList())));
  }

  /**
   * Two models of a folder of models.
   *
   * @param batch rows a request
   * @param sequence what other open dimensions become
   */
  static Pair ofFolder(
      Path work, Path folder, String online, String offline, int batch, int sequence)
      throws IOException {
    Path repository = work.resolve("sharing-" + online + "-" + offline);
    for (String model : List.of(online, offline)) {
      link(folder.resolve(model), repository.resolve(model));
    }
    return new Pair(
        repository,
        asked(repository, online, batch, sequence),
        asked(repository, offline, batch, sequence));
  }

  private static Asked asked(Path repository, String model, int batch, int sequence) {
    ModelCase modelCase = ModelCase.of(repository, model, batch, sequence);
    return new Asked(model, server -> modelCase.inputs(server.inputs(model)));
  }

  /** The same files in another folder, copied where they cannot be linked. */
  private static void link(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Path target = to.resolve(from.relativize(file));
        Files.createDirectories(target.getParent());
        try {
          Files.createLink(target, file);
        } catch (FileAlreadyExistsException e) {
          // It is there from an earlier run.
        } catch (IOException | UnsupportedOperationException e) {
          Files.copy(file, target);
        }
      }
    }
  }
}
