package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.SessionSettings.Optimization;
import io.pipelane.runtime.graph.CutSettings;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The import process. */
public final class ImportMain {
  /** The exit code of an import that refused its model; the reason lies in {@link #REFUSAL}. */
  static final int REFUSED = 3;

  /** The exit code of one that could not read or write files; its log says which. */
  static final int FILES_FAILED = 4;

  static final String REFUSAL = "refusal.txt";

  private static final String CPU = "cpu";

  private ImportMain() {}

  static List<String> arguments(Path modelFile, Path folder, ImportSettings settings) {
    return List.of(
        modelFile.toAbsolutePath().toString(),
        folder.toAbsolutePath().toString(),
        settings.runtimeLibrary().toAbsolutePath().toString(),
        settings.optimization().name(),
        Long.toString(settings.cuts().minimumSegmentBytes()),
        Integer.toString(settings.cuts().maximumSegments()),
        argument(settings.target().provider()),
        settings.target().deviceIdentity(),
        Boolean.toString(settings.cuts().readInPlace()),
        Long.toString(settings.cuts().longestSegment().toNanos()));
  }

  private static String argument(ExecutionProvider provider) {
    return switch (provider) {
      case ExecutionProvider.Cpu cpu -> CPU;
      case ExecutionProvider.Cuda cuda ->
          "%d:%s:%s".formatted(cuda.device(), cuda.tf32(), cuda.channelsLast());
    };
  }

  static ImportTarget target(String provider, String identity) {
    if (provider.equals(CPU)) {
      return new ImportTarget(ExecutionProvider.CPU, identity);
    }
    List<String> parts = List.of(provider.split(":", -1));
    return ImportTarget.cuda(
        Integer.parseInt(parts.get(0)),
        Boolean.parseBoolean(parts.get(1)),
        Boolean.parseBoolean(parts.get(2)),
        identity);
  }

  public static void main(String[] arguments) {
    endWithParent();
    Runtime.getRuntime().halt(run(arguments));
  }

  /** Runs an import and answers the exit code. */
  static int run(String[] arguments) {
    try {
      return importOrRefuse(Path.of(arguments[1]), arguments);
    } catch (Throwable e) {
      e.printStackTrace(); // Ends up in the log, whose tail is the reason that the owner sees.
      System.err.println(e); // Where it was may be longer than that tail.
      return e instanceof IOException || e instanceof UncheckedIOException ? FILES_FAILED : 1;
    }
  }

  private static int importOrRefuse(Path folder, String[] arguments) throws IOException {
    try {
      CutSettings cuts =
          new CutSettings(
              Long.parseLong(arguments[4]),
              Integer.parseInt(arguments[5]),
              Boolean.parseBoolean(arguments[8]),
              Duration.ofNanos(Long.parseLong(arguments[9])));
      Optimization optimization = Optimization.valueOf(arguments[3]);
      ImportTarget target = target(arguments[6], arguments[7]);
      DeclaredShapes shapes = DeclaredShapes.read(folder);
      Path model = shapes.modelWithThem(Path.of(arguments[0]), folder);
      new ImportJob(model, folder, Path.of(arguments[2]), optimization, cuts, target).run();
      DeclaredShapes.delete(folder);
      return 0;
    } catch (StatusException e) {
      String reason = e.getMessage() + DeclaredShapes.read(folder).remark();
      Files.writeString(folder.resolve(REFUSAL), e.status() + "\n" + reason);
      return REFUSED;
    }
  }

  static StatusException readRefusal(Path file) throws IOException {
    String text = Files.readString(file);
    int end = text.indexOf('\n');
    String status = text.substring(0, Math.max(0, end));
    for (Status candidate : Status.values()) {
      if (candidate.name().equals(status)) {
        boolean fault = candidate == Status.INTERNAL;
        return new StatusException(
            fault ? Status.INVALID_ARGUMENT : candidate, text.substring(end + 1));
      }
    }
    return new StatusException(Status.INVALID_ARGUMENT, text);
  }

  /** The parent holds the other end of standard input; its end is the end of it. */
  private static void endWithParent() {
    Thread.ofPlatform()
        .daemon()
        .name("parent-watch")
        .start(
            () -> {
              try {
                System.in.transferTo(OutputStream.nullOutputStream());
              } catch (IOException e) {
                // The same as its end.
              }
              Runtime.getRuntime().halt(1);
            });
  }
}
