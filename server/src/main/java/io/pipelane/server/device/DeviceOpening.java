package io.pipelane.server.device;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.calibration.Calibration;
import io.pipelane.lanes.calibration.CalibrationFile;
import io.pipelane.lanes.calibration.Calibrator;
import io.pipelane.lanes.calibration.LinkProfile;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cuda.CudaHostMemory;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.modelstore.host.WeightsReadWhole;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.runtime.graph.GraphTarget;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.LinkCosts;
import io.pipelane.switcher.grouping.LinkModel;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.ProfileFolder;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.memory.PeerMemory;
import io.pipelane.switcher.placement.LosableSessions;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.sharing.SharingSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The opening of the devices that a configuration asks for, each with a switcher on it. */
public final class DeviceOpening {
  private static final double PERCENT = 100;

  private final PipelaneConfig config;
  private final Path library;
  private final OpenParts opened;
  private final CalibrationFile calibrations;

  /** What transfers over each link alone cost, by the devices' names. */
  private final Map<String, PipelineCosts> measured = new HashMap<>();

  private DeviceOpening(PipelaneConfig config, Path library, OpenParts opened) {
    this.config = config;
    this.library = library;
    this.opened = opened;
    this.calibrations = new CalibrationFile(config.repository().cache());
  }

  /**
   * Opens devices.
   *
   * @param library ONNX Runtime's
   * @param opened takes what has to be closed
   * @param announcements told in a line each what was chosen and what each device is given
   * @throws io.pipelane.config.StatusException when a device cannot be had
   */
  public static OpenDevices open(
      PipelaneConfig config, Path library, OpenParts opened, Consumer<String> announcements) {
    DeviceChoice choice = DeviceChoice.of(config.device().kind(), library);
    return new DeviceOpening(config, library, opened).open(choice, announcements);
  }

  /**
   * What models are imported for under a configuration, without opening devices to serve from.
   *
   * @throws StatusException when a device cannot be had
   */
  public static ImportTarget importTarget(PipelaneConfig config, Path library) {
    DeviceChoice choice = DeviceChoice.of(config.device().kind(), library);
    return switch (choice) {
      case DeviceChoice.Processor processor -> ImportTarget.processor();
      case DeviceChoice.Gpus(List<Integer> ordinals) -> {
        try (CudaContext context = CudaContext.open(CudaDriver.load(), ordinals.getFirst())) {
          yield CudaServing.target(config, context);
        }
      }
    };
  }

  private SharedMemory transfers(ByteSize size) {
    return opened.add(SharedMemory.allocate("transfers", size.bytes()));
  }

  private OpenDevices open(DeviceChoice choice, Consumer<String> announcements) {
    List<ServingDevice> devices = new ArrayList<>();
    HostTier hostTier;
    TransferMemory transferMemory;
    ByteSize hostBytes = config.hostTier().memory();
    String note = "";
    AtomicInteger workerIds = new AtomicInteger();
    switch (choice) {
      case DeviceChoice.Processor(List<String> names, String reason) -> {
        if (!reason.isEmpty()) {
          announcements.accept("device.kind is auto: using the CPU, because " + reason);
        }
        findCalibration(names);
        CpuServing processor =
            new CpuServing(config, library, names.size(), opened, workerIds::incrementAndGet);
        for (String name : names) {
          devices.add(opened.add(processor.open(name)));
        }
        hostTier = opened.add(HostTier.mapping(hostBytes));
        SharedMemory memory = transfers(config.server().transferMemoryForCpu());
        transferMemory = opened.add(new TransferMemory(memory.segment()));
      }
      case DeviceChoice.Gpus(List<Integer> ordinals) -> {
        CudaDriver driver = CudaDriver.load();
        ordinals.forEach(ordinal -> announceLink(ordinal, announcements));
        // Pinned memory belongs to a context, and must be gone before the last device is.
        List<CudaContext> contexts = new ArrayList<>();
        for (int ordinal : ordinals) {
          contexts.add(opened.add(CudaContext.open(driver, ordinal)));
        }
        SharedMemory memory = transfers(config.server().transferMemoryForGpus());
        PinnedHostMemory _ =
            opened.add(PinnedHostMemory.register(contexts.getFirst(), memory.segment()));
        transferMemory = opened.add(new TransferMemory(memory.segment()));
        CudaServing gpus =
            new CudaServing(
                config, library, driver, memory, transferMemory, workerIds::incrementAndGet);
        for (int ordinal : ordinals) {
          devices.add(opened.add(gpus.open(ordinal)));
        }
        note = CudaServing.workersNote(config);
        hostTier = opened.add(HostTier.filling(hostBytes, new CudaHostMemory(contexts)));
      }
    }
    LinkSharing links = LinkSharing.of(config.switching().borrowLinks(), devices);
    HostWeights weights = config.hostTier().pipeline() ? hostTier : new WeightsReadWhole(hostTier);
    List<ServingDevices.Place> places = new ArrayList<>();
    List<ImportTargets.Of> targets = new ArrayList<>();
    Map<ServingDevice, LinkCosts> costs = new LinkedHashMap<>();
    for (ServingDevice device : devices) {
      announcements.accept(device.description() + note);
      LinkCosts ofLink = LinkCosts.unknown();
      costs.put(device, ofLink);
      ServingDevices.Place place = place(device, ofLink, weights, devices.size() > 1);
      places.add(place);
      targets.add(new ImportTargets.Of(device.target(), place.switcher()::isUsable));
    }
    Runnable becomeKnown =
        () -> costs.forEach((device, of) -> links.costs(device, measured).ifPresent(of::become));
    becomeKnown.run();
    links.announcement().ifPresent(announcements);
    if (config.placement().peerMemory()) {
      readEachOther(devices, places);
    }
    ServingDevices serving =
        opened.add(
            new ServingDevices(
                places,
                hostTier,
                config.placement(),
                config.runtime().firstRuns(),
                new StructureSharing(
                    config.switching().shareStructures(), choice instanceof DeviceChoice.Gpus)));
    if (config.hostTier().readAhead()) {
      opened.add(
          new IdleReading(serving::demands, hostTier::readAhead, serving::isIdle, System::nanoTime)
              .start());
    }
    Optional<IdleCalibration> calibration =
        choice instanceof DeviceChoice.Processor(List<String> names, _) && measured.isEmpty()
            ? Optional.of(opened.add(calibrationOf(names, serving, becomeKnown)))
            : Optional.empty();
    return new OpenDevices(serving, new ImportTargets(targets), transferMemory, calibration);
  }

  /** What a device can do is measured before it is served from, while all of it is free. */
  private void announceLink(int ordinal, Consumer<String> announcements) {
    String name = "cuda:" + ordinal;
    try {
      DeviceList.Listed gpu = new DeviceList(config, System::nanoTime).gpu(ordinal);
      Calibration calibration = gpu.calibration(calibrations);
      measured.put(gpu.name(), PipelineCosts.gpu(calibration));
      LinkProfile link = calibration.link();
      announcements.accept(
          "%s: weights come in at up to %.1f GB/s, a copy costs %.1f us (pipelane devices tells more)"
              .formatted(
                  name,
                  link.bandwidth(Calibrator.LARGEST_COPY) / 1e9,
                  link.costPerCopyNanos() / 1e3));
    } catch (IOException | RuntimeException e) { // It can be served from all the same.
      announcements.accept(name + " was not measured: " + e.getMessage());
    }
  }

  /** The processor's link is known if it was measured before, or is as slow as it is told to be. */
  private void findCalibration(List<String> names) {
    DeviceList.Listed cpu = new DeviceList(config, System::nanoTime).cpu(Processor.description());
    calibrations
        .read(cpu.name(), cpu.driver())
        .map(PipelineCosts::processor)
        .or(() -> config.link().bandwidth().limit().map(DeviceOpening::costsAt))
        .ifPresent(costs -> names.forEach(name -> measured.put(name, costs)));
  }

  private static PipelineCosts costsAt(long bytesPerSecond) {
    return PipelineCosts.processor(LinkModel.line(0, (double) bytesPerSecond));
  }

  /** Else it is measured once the server is ready, so that no start waits for that. */
  private IdleCalibration calibrationOf(
      List<String> names, ServingDevices serving, Runnable becomeKnown) {
    DeviceList devices = new DeviceList(config, System::nanoTime);
    DeviceList.Listed cpu = devices.cpu(Processor.description());
    return new IdleCalibration(
        turn -> devices.calibrateBesideWork(cpu, turn),
        calibrations,
        calibration -> {
          names.forEach(name -> measured.put(name, PipelineCosts.processor(calibration)));
          becomeKnown.run();
        },
        serving::isIdle,
        System::nanoTime,
        LockSupport::parkNanos);
  }

  /** Every device reads weights out of all others' pages that it reaches. */
  private static void readEachOther(
      List<ServingDevice> devices, List<ServingDevices.Place> places) {
    for (int reader = 0; reader < devices.size(); reader++) {
      PeerMemory memory = places.get(reader).switcher().peers();
      for (int read = 0; read < devices.size(); read++) {
        PeerMemory peer = places.get(read).switcher().peers();
        devices
            .get(reader)
            .device()
            .readsPagesOf(devices.get(read).device())
            .ifPresent(pages -> memory.readFrom(peer, pages));
      }
    }
  }

  private ServingDevices.Place place(
      ServingDevice device, LinkCosts costs, HostWeights weights, boolean losable) {
    DeviceMemory memory = new DeviceMemory(device.device().persistent());
    SessionFactory sessions = device.sessions().apply(memory);
    @Nullable LosableSessions drilled = losable ? new LosableSessions(sessions) : null;
    Switcher switcher;
    try {
      switcher =
          new Switcher(
              device.device(),
              memory,
              drilled == null ? sessions : drilled,
              settings(device, costs),
              weights);
    } catch (RuntimeException | Error e) {
      sessions.close();
      throw e;
    }
    return new ServingDevices.Place(
        device.device().name(),
        opened.add(switcher), // Closes the sessions, too.
        sessions instanceof ProcessSessionFactory workers ? workers : null,
        drilled);
  }

  private SwitcherSettings settings(ServingDevice device, LinkCosts costs) {
    String name = device.device().name();
    ExecutorService writer =
        opened.add(
            Executors.newSingleThreadExecutor(
                Thread.ofPlatform().daemon().name("profiles").factory()));
    SegmentProfiles profiles =
        SegmentProfiles.in(new ProfileFolder(config.repository().cache(), name), writer);
    GraphTarget graph = device.target().graph();
    return new SwitcherSettings(
        new SwitcherSettings.Memory(
            device.budget().weights().bytes(),
            device.budget().working().bytes(),
            config.hostTier().states().bytes(),
            config.device().ensembleMemory().bytes()),
        device.budget().lanes(),
        new SwitcherSettings.QueueLimits(
            config.queue().maxRequests(), config.queue().maxBytes().bytes()),
        DeviceGrouping.of(config.switching().grouping(), graph, costs, profiles),
        profiles,
        new ResidencySettings(
            config.residency(),
            profiles,
            costs,
            config.sharing().offlineMemoryPercent() / PERCENT,
            config.workers().zeroPages()),
        config.scheduling(),
        new SharingSettings(config.sharing(), DeviceMonitors.of(name)));
  }
}
