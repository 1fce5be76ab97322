package io.pipelane.lanes.process;

import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Faults that the workers of one server are to have: a file each, named after its step. Who takes
 * one first has it. Safe for any thread of any process.
 */
public final class ArmedFaults implements AutoCloseable {
  private final Path folder;

  private ArmedFaults(Path folder) {
    this.folder = folder;
  }

  /** What a worker does then. */
  public enum Fault {
    /** It ends by {@code abort()}. */
    ABORT,
    /** It ends by signal 9. */
    KILL,
    /** It ends with a code. */
    EXIT,
    /** It goes on never. */
    HANG,
    /** It writes anything where its server reads, and goes on never. */
    GARBAGE,
    /** It takes memory until there is none. */
    OUT_OF_MEMORY,
    /** A kernel of it writes where nothing is, after which its GPU does no more for it. */
    DEVICE_ERROR,
    /** A kernel of it takes the whole GPU and never ends. */
    DEVICE_HANG
  }

  /** Those of a server's workers. */
  public static ArmedFaults of(long server) {
    return new ArmedFaults(
        Path.of(System.getProperty("java.io.tmpdir"), "pipelane-faults-" + server));
  }

  /** Has the next worker that reaches a step fail. */
  public void arm(Step step, Fault fault) {
    write(step.name(), fault);
  }

  /** Has every worker fail that reaches a step with a model. */
  public void armAlways(Step step, ImportedModel model, Fault fault) {
    write(step + "-" + model.plan().structureHash(), fault);
  }

  /** Has every worker fail that reaches a step which concerns no model. */
  public void armAlways(Step step, Fault fault) {
    write(step + "-", fault);
  }

  /** Ends what {@link #armAlways(Step, Fault)} began. */
  public void disarm(Step step) {
    try {
      Files.delete(folder.resolve(step + "-"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(String name, Fault fault) {
    try {
      Files.createDirectories(folder);
      Path draft = Files.writeString(folder.resolve(name + ".draft"), fault.name());
      Files.move(draft, folder.resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether a fault has not been taken yet. */
  public boolean isArmed(Step step) {
    return Files.exists(folder.resolve(step.name()));
  }

  /** What the calling worker has to do at a step. */
  public Optional<Fault> take(Step step, String structure) {
    try {
      Path always = folder.resolve(step + "-" + structure);
      if (Files.exists(always)) {
        return Optional.of(Fault.valueOf(Files.readString(always)));
      }
      Path once = folder.resolve(step.name());
      if (!Files.exists(once)) {
        return Optional.empty();
      }
      Fault fault = Fault.valueOf(Files.readString(once));
      Files.delete(once);
      return Optional.of(fault);
    } catch (NoSuchFileException e) {
      return Optional.empty(); // Another worker has it.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Forgets what has not been taken. */
  @Override
  public void close() throws IOException {
    if (Files.exists(folder)) {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : files.toList()) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
    }
  }
}
