package io.pipelane.switcher.placement;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.residency.Usage;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The devices that requests for one version may go to. Its devices are those that are meant to have
 * its weights; it is registered on others as well, which take over when all of its own are lost.
 * Safe for any thread.
 */
final class Route {
  final ModelVersion version;

  /** Devices that know the version, by index. */
  final List<Integer> registered;

  /** Whether requests depend on those before them, so that all go to one device. */
  final boolean keepsState;

  private final AtomicIntegerArray underWay;
  private final Usage[] couldSave;
  private final Usage[] saves;
  private final Usage[] asked;
  private volatile @Nullable AskedForm form;
  private volatile List<Integer> devices;
  private volatile List<Integer> candidates;
  private long changedNanos;

  /**
   * A route to one device.
   *
   * @param registered by index; the first is the one
   * @param count of all devices
   * @param halfLife after which waiting counts half
   */
  Route(
      ModelVersion version,
      List<Integer> registered,
      boolean keepsState,
      int count,
      Duration halfLife,
      long nowNanos) {
    this.version = version;
    this.registered = List.copyOf(registered);
    this.keepsState = keepsState;
    this.devices = List.of(registered.getFirst());
    this.candidates = this.registered;
    this.underWay = new AtomicIntegerArray(count);
    this.couldSave = usages(count, halfLife, nowNanos);
    this.saves = usages(count, halfLife, nowNanos);
    this.asked = usages(count, halfLife, nowNanos);
    this.changedNanos = nowNanos - halfLife.toNanos();
  }

  private static Usage[] usages(int count, Duration halfLife, long nowNanos) {
    return IntStream.range(0, count)
        .mapToObj(_ -> new Usage(halfLife, nowNanos))
        .toArray(Usage[]::new);
  }

  /** The devices that it has, by index; the first it had first. */
  List<Integer> devices() {
    return devices;
  }

  /** Devices that may become its own, by index. */
  List<Integer> candidates() {
    return candidates;
  }

  /** Leaves it no choice but some devices; where none of those knows it, all is as before. */
  synchronized void confine(List<Integer> to) {
    List<Integer> left = registered.stream().filter(to::contains).toList();
    if (!left.isEmpty()) {
      candidates = left;
      List<Integer> own = devices.stream().filter(left::contains).toList();
      devices = own.isEmpty() ? List.of(left.getFirst()) : own;
    }
  }

  /** Requests under way on a device. */
  int underWay(int device) {
    return underWay.get(device);
  }

  void came(int device) {
    underWay.incrementAndGet(device);
  }

  void left(int device) {
    underWay.decrementAndGet(device);
  }

  /** A request waits so much longer as the device does not have the model. */
  synchronized void couldSave(int device, long nanos, long nowNanos) {
    couldSave[device].used(nowNanos, (double) nanos);
  }

  /** A request waits so much less as the device has the model, too. */
  synchronized void saved(int device, long nanos, long nowNanos) {
    saves[device].used(nowNanos, (double) nanos);
  }

  /**
   * Online work has asked for the model on a device: a request, or a step of a model over several.
   */
  synchronized void asked(int device, long nowNanos) {
    asked[device].used(nowNanos);
  }

  /** A request has asked for the model in this form, which is remembered until there is another. */
  void askedAs(InferenceRequest request) {
    @Nullable AskedForm latest = form;
    if (!request.isOnDevice() && (latest == null || !latest.isOf(request))) {
      form = AskedForm.of(request);
    }
  }

  /** In which form the model was asked for last. */
  Optional<AskedForm> form() {
    return Optional.ofNullable(form);
  }

  /** How often online work has asked for the model on a device each second, lately. */
  synchronized double askedPerSecond(int device, long nowNanos) {
    return asked[device].perSecond(nowNanos);
  }

  /** Waiting that the device would save, in nanoseconds each second, lately. */
  synchronized double couldSave(int device, long nowNanos) {
    return couldSave[device].perSecond(nowNanos);
  }

  /** Waiting that the device saves, in nanoseconds each second, lately. */
  synchronized double saves(int device, long nowNanos) {
    return saves[device].perSecond(nowNanos);
  }

  /** What a device would save is to be counted anew, as it has more to do by now, or less. */
  synchronized void countAnew(int device, long nowNanos) {
    couldSave[device].used(nowNanos, -couldSave[device].at(nowNanos));
  }

  /** How long the devices have been the same. */
  synchronized long settledNanos(long nowNanos) {
    return nowNanos - changedNanos;
  }

  /** Has one device more, unless that may not be its own; whether it has it. */
  synchronized boolean open(int device, long nowNanos) {
    if (!devices.contains(device) && candidates.contains(device)) {
      devices = Stream.concat(devices.stream(), Stream.of(device)).toList();
      changedNanos = nowNanos;
    }
    return devices.contains(device);
  }

  /** Has one device less, but never none. */
  synchronized void close(int device, long nowNanos) {
    List<Integer> left = devices.stream().filter(other -> other != device).toList();
    devices = left.isEmpty() ? devices : left;
    changedNanos = nowNanos;
  }

  /** Has another device instead of those it had, all of which are lost. */
  synchronized void moveTo(int device, List<Integer> lost, long nowNanos) {
    if (devices.equals(lost)) { // Another request may have been first.
      devices = List.of(device);
      changedNanos = nowNanos;
    }
  }
}
