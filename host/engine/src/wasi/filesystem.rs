//! `wasi:filesystem` over the world's files.

use super::bindings::wasi::filesystem::preopens;
use super::bindings::wasi::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use super::clocks::datetime;
use crate::guest::{Failed, Guest};
use hutch_world::files::{NewTime, OpenOptions, Stat, Type};
use hutch_world::{Descriptor, Errno, Failure, FolderStream, Input, Output};
use wasmtime::component::Resource;

type FsResult<T> = wasmtime::Result<Result<T, ErrorCode>>;

/// Gives the guest its value or error, or ends the run.
fn answer<T>(result: Result<T, Failure>) -> FsResult<T> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Failure::Errno(errno)) => Ok(Err(error_code(errno))),
        Err(Failure::Stop(stop)) => match stop.errno() {
            Ok(errno) => Ok(Err(error_code(errno))),
            Err(stop) => Err(stop.into()),
        },
    }
}

fn error_code(errno: Errno) -> ErrorCode {
    match errno {
        Errno::Access => ErrorCode::Access,
        Errno::BadDescriptor => ErrorCode::BadDescriptor,
        Errno::Busy => ErrorCode::Busy,
        Errno::CrossDevice => ErrorCode::CrossDevice,
        Errno::Exist => ErrorCode::Exist,
        Errno::FileTooLarge => ErrorCode::FileTooLarge,
        Errno::InsufficientMemory => ErrorCode::InsufficientMemory,
        Errno::InsufficientSpace => ErrorCode::InsufficientSpace,
        Errno::Invalid => ErrorCode::Invalid,
        Errno::IsDirectory => ErrorCode::IsDirectory,
        Errno::Loop => ErrorCode::Loop,
        Errno::NameTooLong => ErrorCode::NameTooLong,
        Errno::NoEntry => ErrorCode::NoEntry,
        Errno::NotDirectory => ErrorCode::NotDirectory,
        Errno::NotEmpty => ErrorCode::NotEmpty,
        Errno::NotPermitted => ErrorCode::NotPermitted,
        Errno::Overflow => ErrorCode::Overflow,
        Errno::ReadOnly => ErrorCode::ReadOnly,
        Errno::TooManyLinks => ErrorCode::TooManyLinks,
    }
}

fn descriptor_type(kind: Type) -> DescriptorType {
    match kind {
        Type::File => DescriptorType::RegularFile,
        Type::Folder => DescriptorType::Directory,
        Type::Link => DescriptorType::SymbolicLink,
    }
}

fn descriptor_stat(stat: Stat) -> DescriptorStat {
    DescriptorStat {
        type_: descriptor_type(stat.kind),
        link_count: stat.links,
        size: stat.size,
        data_access_timestamp: Some(datetime(stat.accessed_ns)),
        data_modification_timestamp: Some(datetime(stat.modified_ns)),
        status_change_timestamp: Some(datetime(stat.changed_ns)),
    }
}

fn new_time(time: NewTimestamp) -> NewTime {
    match time {
        NewTimestamp::NoChange => NewTime::Keep,
        NewTimestamp::Now => NewTime::Now,
        NewTimestamp::Timestamp(at) => NewTime::At(at.seconds, at.nanoseconds),
    }
}

fn follows(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}

fn open_options(path: PathFlags, open: OpenFlags, flags: DescriptorFlags) -> OpenOptions {
    OpenOptions {
        follow: follows(path),
        create: open.contains(OpenFlags::CREATE),
        directory: open.contains(OpenFlags::DIRECTORY),
        exclusive: open.contains(OpenFlags::EXCLUSIVE),
        truncate: open.contains(OpenFlags::TRUNCATE),
        read: flags.contains(DescriptorFlags::READ),
        write: flags.contains(DescriptorFlags::WRITE),
        mutate_directory: flags.contains(DescriptorFlags::MUTATE_DIRECTORY),
        requested_write_sync: flags.contains(DescriptorFlags::REQUESTED_WRITE_SYNC),
        file_integrity_sync: flags.contains(DescriptorFlags::FILE_INTEGRITY_SYNC),
        data_integrity_sync: flags.contains(DescriptorFlags::DATA_INTEGRITY_SYNC),
    }
}

fn descriptor_flags(options: OpenOptions) -> DescriptorFlags {
    let flags = [
        (options.read, DescriptorFlags::READ),
        (options.write, DescriptorFlags::WRITE),
        (options.mutate_directory, DescriptorFlags::MUTATE_DIRECTORY),
        (options.requested_write_sync, DescriptorFlags::REQUESTED_WRITE_SYNC),
        (options.file_integrity_sync, DescriptorFlags::FILE_INTEGRITY_SYNC),
        (options.data_integrity_sync, DescriptorFlags::DATA_INTEGRITY_SYNC),
    ];
    flags.into_iter().filter(|(set, _)| *set).fold(DescriptorFlags::empty(), |all, (_, flag)| all | flag)
}

impl preopens::Host for Guest {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let preopens = self.enter()?.open_preopens();
        preopens.into_iter().map(|(descriptor, name)| Ok((self.push(descriptor)?, name))).collect()
    }
}

impl types::Host for Guest {
    fn filesystem_error_code(&mut self, error: Resource<Failed>) -> wasmtime::Result<Option<ErrorCode>> {
        self.enter()?;
        Ok(Some(error_code(self.table.get(&error)?.0)))
    }
}

impl types::HostDescriptor for Guest {
    fn read_via_stream(&mut self, file: Resource<Descriptor>, offset: u64) -> FsResult<Resource<Input>> {
        self.enter()?;
        match self.world.read_stream(self.table.get(&file)?, offset) {
            Ok(input) => Ok(Ok(self.push(input)?)),
            Err(failure) => answer(Err(failure)),
        }
    }

    fn write_via_stream(&mut self, file: Resource<Descriptor>, offset: u64) -> FsResult<Resource<Output>> {
        self.enter()?;
        match self.world.write_stream(self.table.get(&file)?, Some(offset)) {
            Ok(output) => Ok(Ok(self.push(output)?)),
            Err(failure) => answer(Err(failure)),
        }
    }

    fn append_via_stream(&mut self, file: Resource<Descriptor>) -> FsResult<Resource<Output>> {
        self.enter()?;
        match self.world.write_stream(self.table.get(&file)?, None) {
            Ok(output) => Ok(Ok(self.push(output)?)),
            Err(failure) => answer(Err(failure)),
        }
    }

    fn advise(&mut self, file: Resource<Descriptor>, _: u64, _: u64, _: Advice) -> FsResult<()> {
        self.enter()?;
        let advisable = self.world.kind(self.table.get(&file)?) == Type::File;
        Ok(if advisable { Ok(()) } else { Err(ErrorCode::BadDescriptor) })
    }

    fn sync_data(&mut self, _: Resource<Descriptor>) -> FsResult<()> {
        self.enter()?;
        Ok(Ok(()))
    }

    fn get_flags(&mut self, file: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        self.enter()?;
        Ok(Ok(descriptor_flags(self.table.get(&file)?.options())))
    }

    fn get_type(&mut self, file: Resource<Descriptor>) -> FsResult<DescriptorType> {
        self.enter()?;
        Ok(Ok(descriptor_type(self.world.kind(self.table.get(&file)?))))
    }

    fn set_size(&mut self, file: Resource<Descriptor>, size: u64) -> FsResult<()> {
        self.enter()?;
        answer(self.world.set_size(self.table.get(&file)?, size))
    }

    fn set_times(
        &mut self,
        file: Resource<Descriptor>,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        self.enter()?;
        answer(self.world.set_times(self.table.get(&file)?, new_time(access), new_time(modification)))
    }

    fn read(&mut self, file: Resource<Descriptor>, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        self.enter()?;
        answer(self.world.read(self.table.get(&file)?, length, offset).map(|bytes| {
            let end = bytes.is_empty();
            (bytes, end)
        }))
    }

    fn write(&mut self, file: Resource<Descriptor>, buffer: Vec<u8>, offset: u64) -> FsResult<u64> {
        self.enter()?;
        let written = self.world.write(self.table.get(&file)?, &buffer, offset);
        answer(written.map(|()| buffer.len() as u64))
    }

    fn read_directory(&mut self, folder: Resource<Descriptor>) -> FsResult<Resource<FolderStream>> {
        self.enter()?;
        match self.world.read_folder(self.table.get(&folder)?) {
            Ok(stream) => Ok(Ok(self.push(stream)?)),
            Err(failure) => answer(Err(failure)),
        }
    }

    fn sync(&mut self, _: Resource<Descriptor>) -> FsResult<()> {
        self.enter()?;
        Ok(Ok(()))
    }

    fn create_directory_at(&mut self, base: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.enter_with(&path)?;
        answer(self.world.create_folder(self.table.get(&base)?, &path))
    }

    fn stat(&mut self, file: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        self.enter()?;
        Ok(Ok(descriptor_stat(self.world.stat(self.table.get(&file)?))))
    }

    fn stat_at(&mut self, base: Resource<Descriptor>, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.enter_with(&path)?;
        answer(self.world.stat_at(self.table.get(&base)?, &path, follows(flags)).map(descriptor_stat))
    }

    fn set_times_at(
        &mut self,
        base: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        self.enter_with(&path)?;
        let (access, modification) = (new_time(access), new_time(modification));
        answer(self.world.set_times_at(self.table.get(&base)?, &path, follows(flags), access, modification))
    }

    fn link_at(
        &mut self,
        old_base: Resource<Descriptor>,
        flags: PathFlags,
        old_path: String,
        new_base: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        self.enter_with_both(&old_path, &new_path)?;
        let (old, new) = (self.table.get(&old_base)?, self.table.get(&new_base)?);
        answer(self.world.link((old, &old_path), follows(flags), (new, &new_path)))
    }

    fn open_at(
        &mut self,
        base: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        self.enter_with(&path)?;
        match self.world.open_at(self.table.get(&base)?, &path, open_options(path_flags, open_flags, flags)) {
            Ok(descriptor) => Ok(Ok(self.push(descriptor)?)),
            Err(failure) => answer(Err(failure)),
        }
    }

    fn readlink_at(&mut self, base: Resource<Descriptor>, path: String) -> FsResult<String> {
        self.enter_with(&path)?;
        answer(self.world.read_link(self.table.get(&base)?, &path))
    }

    fn remove_directory_at(&mut self, base: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.enter_with(&path)?;
        answer(self.world.remove_folder(self.table.get(&base)?, &path))
    }

    fn rename_at(
        &mut self,
        old_base: Resource<Descriptor>,
        old_path: String,
        new_base: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        self.enter_with_both(&old_path, &new_path)?;
        let (old, new) = (self.table.get(&old_base)?, self.table.get(&new_base)?);
        answer(self.world.rename((old, &old_path), (new, &new_path)))
    }

    fn symlink_at(&mut self, base: Resource<Descriptor>, old_path: String, new_path: String) -> FsResult<()> {
        self.enter_with_both(&old_path, &new_path)?;
        answer(self.world.symlink(self.table.get(&base)?, &old_path, &new_path))
    }

    fn unlink_file_at(&mut self, base: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.enter_with(&path)?;
        answer(self.world.unlink_file(self.table.get(&base)?, &path))
    }

    fn is_same_object(&mut self, a: Resource<Descriptor>, b: Resource<Descriptor>) -> wasmtime::Result<bool> {
        self.enter()?;
        Ok(self.world.is_same(self.table.get(&a)?, self.table.get(&b)?))
    }

    fn metadata_hash(&mut self, file: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        self.enter()?;
        let (lower, upper) = self.world.identity(self.table.get(&file)?);
        Ok(Ok(MetadataHashValue { lower, upper }))
    }

    fn metadata_hash_at(
        &mut self,
        base: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        self.enter_with(&path)?;
        let identity = self.world.identity_at(self.table.get(&base)?, &path, follows(flags));
        answer(identity.map(|(lower, upper)| MetadataHashValue { lower, upper }))
    }

    fn drop(&mut self, file: Resource<Descriptor>) -> wasmtime::Result<()> {
        let descriptor = self.take_back(file)?;
        self.enter()?.close(descriptor);
        Ok(())
    }
}

impl types::HostDirectoryEntryStream for Guest {
    fn read_directory_entry(&mut self, stream: Resource<FolderStream>) -> FsResult<Option<DirectoryEntry>> {
        self.enter()?;
        let entry = self.world.read_folder_entry(self.table.get_mut(&stream)?);
        answer(entry.map(|entry| entry.map(|(kind, name)| DirectoryEntry { type_: descriptor_type(kind), name })))
    }

    fn drop(&mut self, stream: Resource<FolderStream>) -> wasmtime::Result<()> {
        let stream = self.take_back(stream)?;
        self.enter()?.close_folder_stream(stream);
        Ok(())
    }
}
