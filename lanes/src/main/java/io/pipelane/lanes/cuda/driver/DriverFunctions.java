package io.pipelane.lanes.cuda.driver;

import java.lang.foreign.SymbolLookup;

/** The functions of CUDA's driver that are called directly. */
final class DriverFunctions {
  /*
   * What JCuda 12.6 has of these is not usable: cuMemCreate writes past the handle object,
   * cuGraphGetNodes passes an uninitialised length, and cuMemHostAlloc fails beyond 2 GiB.
   */

  final DriverFunction allocationGranularity;
  final DriverFunction addressReserve;
  final DriverFunction addressFree;
  final DriverFunction create;
  final DriverFunction release;
  final DriverFunction map;
  final DriverFunction setAccess;
  final DriverFunction unmap;
  final DriverFunction exportHandle;
  final DriverFunction importHandle;
  final DriverFunction hostAllocate;
  final DriverFunction hostFree;
  final DriverFunction hostRegister;
  final DriverFunction hostUnregister;
  final DriverFunction pointerAttribute;
  final DriverFunction graphNodes;
  final DriverFunction nodeType;
  final DriverFunction copyNodeParameters;
  final DriverFunction setCopyNodeParameters;

  DriverFunctions(SymbolLookup driver) {
    allocationGranularity = DriverFunction.of(driver, "cuMemGetAllocationGranularity", 3);
    addressReserve = DriverFunction.of(driver, "cuMemAddressReserve", 5);
    addressFree = DriverFunction.of(driver, "cuMemAddressFree", 2);
    create = DriverFunction.of(driver, "cuMemCreate", 4);
    release = DriverFunction.of(driver, "cuMemRelease", 1);
    map = DriverFunction.of(driver, "cuMemMap", 5);
    setAccess = DriverFunction.of(driver, "cuMemSetAccess", 4);
    unmap = DriverFunction.of(driver, "cuMemUnmap", 2);
    exportHandle = DriverFunction.of(driver, "cuMemExportToShareableHandle", 4);
    importHandle = DriverFunction.of(driver, "cuMemImportFromShareableHandle", 3);
    hostAllocate = DriverFunction.of(driver, "cuMemHostAlloc", 3);
    hostFree = DriverFunction.of(driver, "cuMemFreeHost", 1);
    hostRegister = DriverFunction.of(driver, "cuMemHostRegister_v2", 3);
    hostUnregister = DriverFunction.of(driver, "cuMemHostUnregister", 1);
    pointerAttribute = DriverFunction.of(driver, "cuPointerGetAttribute", 3);
    graphNodes = DriverFunction.of(driver, "cuGraphGetNodes", 3);
    nodeType = DriverFunction.of(driver, "cuGraphNodeGetType", 2);
    copyNodeParameters = DriverFunction.of(driver, "cuGraphMemcpyNodeGetParams", 2);
    setCopyNodeParameters = DriverFunction.of(driver, "cuGraphMemcpyNodeSetParams", 2);
  }
}
