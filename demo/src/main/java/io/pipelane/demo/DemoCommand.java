package io.pipelane.demo;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.DeviceConfig;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.report.DemoReport;
import io.pipelane.server.cli.Subcommand;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code pipelane demo}: serves real models from less memory than they take, and asks each. */
@Command(
    name = "demo",
    description =
        "Serve six real models from device memory that does not hold all of them, ask each"
            + " something over HTTP, and show the answers, the times and the memory.")
public final class DemoCommand implements Subcommand {
  private static final Path DEFAULT_REPOSITORY = Path.of(".pipelane", "demo");
  private static final int STAY_PORT = 8000;

  private final Supplier<? extends DemoServer> servers;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--stay",
      description = "Go on serving, on port 8000 unless told otherwise, and print curl commands.")
  private boolean stay;

  @Option(
      names = "--repository",
      paramLabel = "DIR",
      description = "Where to put the models; .pipelane/demo unless told otherwise.")
  private Path repository = DEFAULT_REPOSITORY;

  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      description = "What to serve on, as device.kind is written: cpu, cuda, cuda:0,1 or auto.")
  private String device = "cpu";

  @Option(
      names = "--isolation",
      paramLabel = "WAY",
      description =
          "thread or process, as workers.isolation is written; with process, the demo kills one.")
  private @Nullable String isolation;

  @Option(
      names = "--memory",
      paramLabel = "SIZE",
      converter = ByteSizeConverter.class,
      description = "Device memory for weights, such as 96MiB; the largest model and a quarter.")
  private @Nullable ByteSize memory;

  @Option(
      names = "--http-port",
      paramLabel = "N",
      description = "The port to serve on; without --stay any free one.")
  private @Nullable Integer httpPort;

  /** A command that asks a server in this process. */
  public DemoCommand() {
    this(LocalServer::new);
  }

  /** A command that asks a server of the given kind, not yet started. */
  public DemoCommand(Supplier<? extends DemoServer> servers) {
    this.servers = servers;
  }

  /** Runs the demo; 0 when every answer equals a plain ONNX Runtime session's, else 1. */
  @Override
  public Integer call() throws Exception {
    try {
      return demonstrate() ? 0 : 1;
    } catch (IOException e) {
      throw new StatusException(Status.INTERNAL, "the demo stopped: " + e, e);
    }
  }

  private boolean demonstrate() throws Exception {
    DemoReport report = new DemoReport(spec.commandLine().getOut());
    Path root = repository.toAbsolutePath().normalize();
    ByteSize room = memory == null ? defaultMemory(device, isolation) : memory;
    int port = httpPort != null ? httpPort : stay ? STAY_PORT : 0;

    report.begin(DemoModel.values().length, DemoModel.totalByteSize(), room, root);
    writeModels(root);
    try (Questions questions = new Questions();
        DemoServer server = servers.get()) {
      long start = System.nanoTime();
      URI address = server.start(root, device, isolation, room, port);
      try (InferenceClient client = new InferenceClient(address)) {
        boolean equal =
            new Demonstration(root, server, client, questions, report, System::nanoTime).run(start);
        if (stay) {
          report.examples(Examples.write(address, root, questions));
          server.awaitStop();
        }
        return equal;
      }
    }
  }

  private static void writeModels(Path root) {
    try {
      DemoRepository.write(root, EnumSet.allOf(DemoModel.class));
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "the models cannot be written to %s (%s); name a folder that can be with --repository"
              .formatted(root, e),
          e);
    }
  }

  /**
   * Room for what is streamed of the largest model and a quarter, in whole pages of the CPU or a
   * GPU. Worker processes read no tables in place.
   */
  static ByteSize defaultMemory(String device, @Nullable String isolation) {
    DeviceConfig config = PipelaneConfig.of(Map.of("device.kind", device)).device();
    boolean onCpu = config.kind() instanceof DeviceSelection.Cpu;
    boolean inPlace = onCpu && !"process".equals(isolation);
    long page = (onCpu ? config.forCpu(1) : config.forGpu(0)).page().bytes();
    long largest =
        Arrays.stream(DemoModel.values())
            .mapToLong(model -> model.byteSize() - (inPlace ? model.tableBytes() : 0))
            .max()
            .orElse(0);
    return new ByteSize(Math.ceilDiv(largest + largest / 4, page) * page);
  }

  private static final class ByteSizeConverter implements ITypeConverter<ByteSize> {
    @Override
    public ByteSize convert(String value) {
      try {
        return ByteSize.parse(value);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }
}
