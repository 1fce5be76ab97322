package io.pipelane.switcher;

import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * What is tested as a switcher: one, or a group of them that serves as one.
 *
 * @param service answers requests
 * @param stop ends what the group does by itself
 */
record TestedSwitchers(
    InferenceService service,
    List<Device> devices,
    List<Switcher> switchers,
    Consumer<ImportedModel> register,
    Consumer<ModelVersion> deregister,
    Runnable stop) {

  /** A switcher on a device. */
  static TestedSwitchers alone(
      Device device,
      BiFunction<Device, DeviceMemory, SessionFactory> sessions,
      SwitcherSettings settings,
      Function<ImportedModel, WeightSource> weights) {
    Switcher switcher = open(device, sessions, settings, weights);
    return new TestedSwitchers(
        switcher,
        List.of(device),
        List.of(switcher),
        switcher::register,
        switcher::deregister,
        () -> {});
  }

  /** A switcher on each of several devices, requests routed by prediction, without replicas. */
  static TestedSwitchers group(
      List<? extends Device> devices,
      BiFunction<Device, DeviceMemory, SessionFactory> sessions,
      SwitcherSettings settings,
      Function<ImportedModel, WeightSource> weights) {
    Map<String, Switcher> switchers = new LinkedHashMap<>();
    devices.forEach(
        device -> switchers.put(device.name(), open(device, sessions, settings, weights)));
    PlacementConfig placement =
        new PlacementConfig(
            Routing.PREDICTED, false, Duration.ofSeconds(30), true, 0, Duration.ZERO);
    SwitcherGroup group = new SwitcherGroup(switchers, placement, 2, System::nanoTime);
    return new TestedSwitchers(
        group,
        List.copyOf(devices),
        List.copyOf(switchers.values()),
        model -> group.register(model, ModelOptions.DEFAULT),
        group::deregister,
        group::close);
  }

  private static Switcher open(
      Device device,
      BiFunction<Device, DeviceMemory, SessionFactory> sessions,
      SwitcherSettings settings,
      Function<ImportedModel, WeightSource> weights) {
    DeviceMemory memory = new DeviceMemory(device.persistent());
    return new Switcher(device, memory, sessions.apply(device, memory), settings, weights::apply);
  }

  void register(ImportedModel model) {
    register.accept(model);
  }

  void deregister(ModelVersion version) {
    deregister.accept(version);
  }

  /** Every device's ledger adds up. */
  void verify() {
    switchers.forEach(Switcher::verify);
  }

  /** What is counted of each device, all devices together. */
  long total(ToLongFunction<Switcher> counted) {
    return switchers.stream().mapToLong(counted).sum();
  }

  long constantBytes() {
    return total(each -> each.memory().constantBytes());
  }

  long lentBytes() {
    return total(each -> each.memory().weights().lentBytes());
  }

  long failedLoads() {
    return total(each -> each.transfers().failedLoads());
  }

  long queuedRequests() {
    return total(each -> each.queue().requests());
  }

  /** Whether everything is done within a time on each device; nothing is taken any more. */
  boolean drain(Duration within) {
    return switchers.stream().map(each -> each.drain(within)).reduce(true, Boolean::logicalAnd);
  }

  /** Closes all but the devices. */
  void close() {
    stop.run();
    switchers.forEach(Switcher::close);
  }
}
