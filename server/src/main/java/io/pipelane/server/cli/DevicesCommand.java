package io.pipelane.server.cli;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.lanes.calibration.Calibration;
import io.pipelane.lanes.calibration.CalibrationFile;
import io.pipelane.lanes.calibration.LinkProfile;
import io.pipelane.server.device.DeviceList;
import io.pipelane.server.device.DeviceList.Listed;
import io.pipelane.server.device.Processor;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code pipelane devices}: lists what this machine can serve on, and what it is good for. */
@Command(
    name = "devices",
    description =
        "List the devices that this machine can serve on, and what was measured of each; what was"
            + " not yet is measured now, in about a second a device.",
    sortOptions = false,
    modelTransformer = ConfigOptions.class)
final class DevicesCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(names = "--recalibrate", description = "Measure again what was measured before.")
  private boolean recalibrate;

  @Override
  public Integer call() throws IOException {
    PipelaneConfig config = ConfigOptions.load(spec, System.getenv()).config();
    PrintWriter out = spec.commandLine().getOut();
    DeviceList list = new DeviceList(config, System::nanoTime);
    List<Listed> devices = new ArrayList<>();
    devices.addAll(
        list.cpus(
            Processor.description(),
            config.device().kind() instanceof DeviceSelection.Cpu cpu
                ? cpu
                : new DeviceSelection.Cpu()));
    LeftAlignedTable table =
        new LeftAlignedTable("DEVICE", "WHAT IT IS, AND WHAT IT WOULD BE GIVEN");
    String refusal = addGpus(list, devices);
    devices.forEach(device -> table.add(device.selection(), device.description()));
    if (!refusal.isEmpty()) {
      table.add("cuda", "none: " + refusal);
    }
    table.print(out);
    CalibrationFile file = new CalibrationFile(config.repository().cache());
    Set<String> printed = new HashSet<>();
    for (Listed device : devices) {
      if (printed.add(device.name())) { // Several devices of the processor are measured as one.
        out.flush();
        print(device, file, out);
      }
    }
    out.flush();
    return 0;
  }

  /** Answers why there is none, or nothing. */
  private static String addGpus(DeviceList list, List<Listed> devices) {
    try {
      devices.addAll(list.gpus());
      return "";
    } catch (StatusException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private void print(Listed device, CalibrationFile file, PrintWriter out) throws IOException {
    Optional<Calibration> kept =
        recalibrate
            ? Optional.empty()
            : file.read(device.name(), device.driver())
                .filter(found -> found.products().isPresent()); // A server's own lacks them.
    out.printf("%n%s, %s%n", device.name(), kept.isPresent() ? "measured before" : "measured now");
    out.flush();
    print(kept.isPresent() ? kept.get() : device.measured(file), out);
  }

  private static void print(Calibration calibration, PrintWriter out) {
    LinkProfile link = calibration.link();
    line(
        out,
        "copies from host",
        link.copies().stream()
            .map(
                copy ->
                    String.format(
                        Locale.ROOT,
                        "%s %.1f GB/s",
                        new ByteSize(copy.bytes()),
                        link.bandwidth(copy.bytes()) / 1e9))
            .collect(Collectors.joining(", ")));
    line(out, "cost of a copy", micros(link.costPerCopyNanos()));
    line(
        out,
        "a page of " + new ByteSize(calibration.pageBytes()),
        "mapped in %s, unmapped in %s"
            .formatted(
                micros(calibration.mapNanosPerPage()), micros(calibration.unmapNanosPerPage())));
    calibration.launchNanos().ifPresent(nanos -> line(out, "a launch", micros(nanos)));
    calibration
        .products()
        .ifPresent(
            rate ->
                line(
                    out,
                    "matrix products",
                    String.format(
                        Locale.ROOT,
                        "%.0f GFLOP/s, by %s",
                        rate.operationsPerSecond() / 1e9,
                        rate.way())));
  }

  private static String micros(double nanos) {
    return String.format(Locale.ROOT, "%.1f us", nanos / 1e3);
  }

  private static void line(PrintWriter out, String what, String value) {
    out.printf("  %-18s %s%n", what, value);
  }
}
