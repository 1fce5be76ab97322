package io.pipelane.config.section;

import static io.pipelane.config.section.SectionValues.DEFAULTS;
import static io.pipelane.config.section.SectionValues.changed;
import static io.pipelane.config.section.SectionValues.size;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.ConfigException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.DeviceSelection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Sections of devices and what is moved onto them: by default, and every value changed. */
class DeviceSectionsTest {
  @Test
  void residency_defaults() {
    assertEquals(
        new ResidencyConfig(
            ResidencyConfig.Policy.EXPECTED_STALL,
            Duration.ofMinutes(2),
            0,
            true,
            true,
            true,
            true),
        DEFAULTS.residency());
  }

  @Test
  void residency_everyValueChanged() {
    assertEquals(
        new ResidencyConfig(
            ResidencyConfig.Policy.GREEDY_DUAL_SIZE,
            Duration.ofSeconds(30),
            900,
            false,
            false,
            false,
            false),
        changed(
                Map.of(
                    "residency.policy", "greedy-dual-size",
                    "residency.half-life", "30s",
                    "residency.stall-target-micros", "900",
                    "residency.prefetch", "false",
                    "residency.idle-prefetch", "false",
                    "residency.share-pages", "false",
                    "residency.pacing", "false"))
            .residency());
  }

  @Test
  void placement_defaults() {
    assertEquals(
        new PlacementConfig(
            PlacementConfig.Routing.PREDICTED,
            true,
            Duration.ofSeconds(30),
            true,
            32,
            Duration.ofMinutes(15)),
        DEFAULTS.placement());
  }

  @Test
  void placement_everyValueChanged() {
    assertEquals(
        new PlacementConfig(
            PlacementConfig.Routing.ROUND_ROBIN,
            false,
            Duration.ofSeconds(2),
            false,
            8,
            Duration.ZERO),
        changed(
                Map.of(
                    "placement.routing", "round-robin",
                    "placement.replicas", "false",
                    "placement.replica-half-life", "2s",
                    "placement.peer-memory", "false",
                    "placement.ready-sessions", "8",
                    "placement.offline-interval", "0ms"))
            .placement());
  }

  @Test
  void device_defaults() {
    assertEquals(
        new DeviceConfig(
            new DeviceSelection.Cpu(),
            Optional.empty(),
            size("2GiB"),
            size("64MiB"),
            Optional.empty(),
            0),
        DEFAULTS.device());
  }

  @Test
  void device_budgetWhenNothingIsSet_dependsOnTheDevice() {
    assertEquals(
        new DeviceBudget(size("1GiB"), size("2GiB"), size("2MiB"), 12),
        DEFAULTS.device().forCpu(12));
    assertEquals(4, DEFAULTS.device().forCpu(12, 3).lanes(), "they share the processors");
    assertEquals(
        new DeviceBudget(size("48MiB"), size("2GiB"), size("16MiB"), 2),
        DEFAULTS.device().forGpu(size("100MiB").bytes()),
        "60 % in whole pages");
  }

  @Test
  void device_budgetOfWhatIsSet_isTheSameOnEveryDevice() {
    DeviceConfig device =
        changed(
                Map.of(
                    "device.memory", "113MiB",
                    "device.page-size", "4MiB",
                    "device.lanes", "5"))
            .device();
    DeviceBudget budget = new DeviceBudget(size("112MiB"), size("2GiB"), size("4MiB"), 5);
    assertEquals(budget, device.forCpu(12));
    assertEquals(budget, device.forGpu(size("100MiB").bytes()));
  }

  @Test
  void device_everyValueChanged() {
    assertEquals(
        new DeviceConfig(
            new DeviceSelection.Cuda(List.of(1, 0)),
            Optional.of(size("115MiB")),
            size("1GiB"),
            size("8MiB"),
            Optional.of(size("64KiB")),
            3),
        changed(
                Map.of(
                    "device.kind", "cuda:1,0",
                    "device.memory", "115MiB",
                    "device.working-memory", "1GiB",
                    "device.ensemble-memory", "8MiB",
                    "device.page-size", "64KiB",
                    "device.lanes", "3"))
            .device());
  }

  @Test
  void link_defaults() {
    assertEquals(new LinkConfig(Bandwidth.UNLIMITED), DEFAULTS.link());
  }

  @Test
  void link_everyValueChanged() {
    assertEquals(
        new LinkConfig(new Bandwidth(2_000_000_000)),
        changed(Map.of("link.bandwidth", "2GB/s")).link());
  }

  @Test
  void switching_defaults() {
    assertEquals(
        new SwitchingConfig(
            SwitchingConfig.Grouping.OPTIMAL,
            SwitchingConfig.ReadInPlace.PROCESSOR,
            SwitchingConfig.ShareStructures.AUTO,
            true,
            true),
        DEFAULTS.switching());
  }

  @Test
  void switching_everyValueChanged() {
    assertEquals(
        new SwitchingConfig(
            SwitchingConfig.Grouping.WHOLE,
            SwitchingConfig.ReadInPlace.NONE,
            SwitchingConfig.ShareStructures.NEVER,
            false,
            false),
        changed(
                Map.of(
                    "switching.grouping", "whole",
                    "switching.read-in-place", "none",
                    "switching.share-structures", "never",
                    "switching.borrow-links", "false",
                    "switching.map-weights", "false"))
            .switching());
  }

  @Test
  void hostTier_defaults() {
    assertEquals(new HostTierConfig(size("2GiB"), size("1GiB"), true, true), DEFAULTS.hostTier());
  }

  @Test
  void hostTier_everyValueChanged() {
    assertEquals(
        new HostTierConfig(size("0"), size("5MiB"), false, false),
        changed(
                Map.of(
                    "host-tier.memory", "0",
                    "host-tier.states", "5MiB",
                    "host-tier.pipeline", "false",
                    "host-tier.read-ahead", "false"))
            .hostTier());
  }

  @Test
  void placement_offlineInterval_isZeroOrASecondAtLeast() {
    ConfigException error =
        assertThrows(
            ConfigException.class, () -> changed(Map.of("placement.offline-interval", "999ms")));

    assertEquals(
        "placement.offline-interval = 999ms (flag --placement.offline-interval) must be 0ms, or 1s at least: sooner nothing new is known of any job",
        error.getMessage());
    changed(Map.of("placement.offline-interval", "1s"));
    changed(Map.of("placement.offline-interval", "0ms"));
  }
}
