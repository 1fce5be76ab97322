package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pipelane upload}: puts a version of a model into a running server's repository. */
@Command(
    name = "upload",
    description = "Put a version of a model into a server's repository (repository.upload).")
final class UploadCommand implements Subcommand {
  private static final String ZIP = "application/zip";
  private static final String BYTES = "application/octet-stream";

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(index = "0", paramLabel = "MODEL", description = "The model's name.")
  private String model = "";

  @Parameters(
      index = "1",
      paramLabel = "VERSION",
      description = "The version, a number that the model does not have yet.")
  private long version;

  @Parameters(
      index = "2",
      paramLabel = "PATH",
      description = "A model's file, a version's folder, or such a folder as a ZIP file.")
  private Path path = Path.of("");

  @Option(names = "--load", description = "Put it in service, too.")
  private boolean load;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    try (ServerClient client = address.connect()) {
      JsonNode stored = Files.isDirectory(path) ? sendFolder(client) : send(client, path);
      out.println(
          "Stored %s/%d: %s, SHA-256 %s"
              .formatted(
                  model,
                  version,
                  new ByteSize(stored.path("bytes").asLong()),
                  stored.path("sha256").asText()));
      if (load) {
        out.println("It is being imported.");
        out.flush();
        client.change(
            ServerClient.JSON.createObjectNode(), "v2", "repository", "models", model, "load");
        out.println("It is in service.");
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, path + " cannot be read: " + e.getMessage(), e);
    }
    out.flush();
    return 0;
  }

  private JsonNode send(ServerClient client, Path file) throws IOException {
    String type = file.getFileName().toString().endsWith(".zip") ? ZIP : BYTES;
    PrintWriter err = spec.commandLine().getErr();
    SentShare share = new SentShare(Files.size(file), err);
    return client.put(
        file,
        type,
        share::sent,
        "v2",
        "repository",
        "models",
        model,
        "versions",
        Long.toString(version));
  }

  /** A listener that tells each tenth of a large file that has been sent; used by one thread. */
  private static final class SentShare {
    private static final long LEAST_BYTES = 16 << 20;
    private static final int PARTS = 10;

    private final long whole;
    private final PrintWriter out;
    private long told;

    SentShare(long whole, PrintWriter out) {
      this.whole = whole;
      this.out = out;
    }

    void sent(long bytes) {
      long part = whole < LEAST_BYTES ? 0 : bytes * PARTS / whole;
      if (part > told) {
        told = part;
        out.println("Sent %s of %s".formatted(new ByteSize(bytes), new ByteSize(whole)));
        out.flush();
      }
    }
  }

  private JsonNode sendFolder(ServerClient client) throws IOException {
    Path packed = Files.createTempFile("pipelane-", ".zip");
    try {
      pack(packed);
      return send(client, packed);
    } finally {
      Files.delete(packed);
    }
  }

  /** Weights hardly shrink: what is packed is stored as it is. */
  private void pack(Path packed) throws IOException {
    List<Path> files;
    try (Stream<Path> paths = Files.walk(path)) {
      files = paths.filter(Files::isRegularFile).sorted().toList();
    }
    try (OutputStream stream = Files.newOutputStream(packed);
        ZipOutputStream zip = new ZipOutputStream(stream)) {
      zip.setLevel(0);
      for (Path file : files) {
        zip.putNextEntry(new ZipEntry(path.relativize(file).toString()));
        Files.copy(file, zip);
        zip.closeEntry();
      }
    }
  }
}
