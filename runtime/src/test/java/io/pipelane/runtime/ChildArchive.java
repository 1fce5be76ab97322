package io.pipelane.runtime;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.runtime.graph.CutSettings;
import io.pipelane.runtime.graph.GateCutter;
import io.pipelane.runtime.graph.GraphTarget;
import io.pipelane.runtime.graph.WeightSelection;
import io.pipelane.runtime.graph.content.Constants;
import io.pipelane.runtime.graph.content.ModelFile;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * An archive of the classes that processes of tests begin with: workers, imports and servers live
 * for a second or two, and half of what they cost is loading classes.
 *
 * <p>Java makes one of classes from jars alone, and uses it where the same jars begin the class
 * path. So a module's own classes, which lie in folders, are not in it; those of libraries are most
 * of them.
 */
public final class ChildArchive {
  private static final String OPTIONS = "pipelane.child-options";

  /** Far longer than it takes: where a machine is slow, the archive saves most. */
  private static final int LIMIT_SECONDS = 60;

  private ChildArchive() {}

  /**
   * Has processes that this one starts from now on use it; makes it where there is none yet. One
   * that cannot use it does without, and says nothing of it, nor does this where none can be made.
   */
  static void use(Path folder) {
    Path archive = folder.resolve("children.jsa");
    try (FileChannel file =
            FileChannel.open(
                folder.resolve("children.lock"),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE);
        FileLock _ = file.lock()) {
      if (!Files.exists(archive)) {
        make(archive);
      }
    } catch (IOException e) {
      System.err.println("processes of tests begin without an archive of classes: " + e);
    }
    String options = System.getProperty(OPTIONS, "");
    if (Files.exists(archive) && !archive.toString().contains(" ")) {
      String use = " -Xlog:cds=off -Xlog:aot=off -XX:SharedArchiveFile=" + archive;
      System.setProperty(OPTIONS, (options + use).strip());
    }
  }

  private static void make(Path archive) throws IOException {
    Path part = archive.resolveSibling("children.part");
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:ArchiveClassesAtExit=" + part,
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                jars(),
                ChildArchive.class.getName(),
                archive.resolveSibling("children").toString()));
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(archive.resolveSibling("children.log").toFile())
            .start();
    try {
      if (process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)
          && process.exitValue() == 0
          && Files.exists(part)) {
        Files.move(part, archive, StandardCopyOption.ATOMIC_MOVE);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      process.destroyForcibly();
    }
  }

  private static String jars() {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
        .map(entry -> Path.of(entry).toAbsolutePath())
        .filter(Files::isRegularFile)
        .map(Path::toString)
        .collect(Collectors.joining(File.pathSeparator));
  }

  /** Cuts a model, runs one with a gate, and writes and reads JSON, as such processes do. */
  static void main(String[] arguments) throws IOException {
    Path folder = Files.createDirectories(Path.of(arguments[0]));
    ModelProto model = TestModels.chain(2, 4, 1);
    ModelFile file = Constants.toInitializers(new ModelFile(model, folder));
    Map<String, TensorProto> weights = WeightSelection.DEFAULT.select(file.graph());
    CutSettings finest = new CutSettings(1, 64);
    ModelProto gated =
        GateCutter.cut(file, weights, finest, GraphTarget.PROCESSOR, TestModels.enormous(model))
            .model();
    try (TestRuntime runtime = new TestRuntime(folder);
        OrtSession session = runtime.open(model)) {
      List<float[]> _ = runtime.run(session, Shape.of(1, 4), new float[4]);
    }
    ModelFile.write(gated, folder.resolve("gated.onnx"));
    JsonMapper json = JsonMapper.builder().build();
    Said said = new Said("model", List.of(1L), Map.of("x", 1.5));
    if (!json.readValue(json.writeValueAsString(said), Said.class).equals(said)) {
      throw new IOException("JSON is not read as it was written");
    }
  }

  /** Values of the kinds that a plan has. */
  private record Said(String name, List<Long> shape, Map<String, Double> numbers) {}
}
